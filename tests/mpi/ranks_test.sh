#!/usr/bin/env bash
# One program on one process and on several ranks of one computer, which must give the same bytes, or be refused.
#   ranks_test.sh HALOCLINE MPIRUN FOLDER PROGRAM RANKS...
# Programs are the functions test_* below.
set -euo pipefail
halocline=$(realpath "$1")
sources=$(realpath "$(dirname "$0")/../..")
mpirun=$2
folder=$3
program=$4
ranks=("${@:5}")
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
# More ranks than processors; Open MPI refuses that, and the superuser, without these.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none  # containers do not allow the other ones
if ! timeout 60 "$mpirun" -n 2 true >launch.log 2>&1; then
  echo "skipped: $mpirun starts no two processes here (without /sys, for example): $(tail -1 launch.log)"
  exit 77
fi
grid=(--size 31,35,27 --spacing 1.5,1.5,1.5)
limit=240  # seconds: ranks that wait for each other fail

fail() {
  echo "FAILED: $program: $*" >&2
  exit 1
}
one() { timeout $limit "$halocline" "$@" --quiet; }
on() { timeout $limit "$mpirun" -n "$1" "$halocline" "${@:2}"; }

# same OUTPUT... -- ARGUMENTS: their last ones are the outputs, in the folder of the run.
same() {
  local outputs=()
  while [ "$1" != -- ]; do outputs+=("$1") && shift; done
  shift
  mkdir -p run-1
  (cd run-1 && one "$@")
  local n
  for n in "${ranks[@]}"; do
    mkdir -p "run-$n"
    (cd "run-$n" && on "$n" "$@" >log 2>&1) || { cat "run-$n/log" && fail "on $n ranks: exit code $?"; }
    local output
    for output in "${outputs[@]}"; do
      cmp "run-1/$output" "run-$n/$output" || fail "$output differs on $n ranks"
    done
    [ -z "$(find . -name '.halocline-*')" ] || fail "a temporary file is left"
    echo "the same on $n ranks: $*"
  done
}

# refused TEXT RANKS COMMAND...: under mpirun, with TEXT in its message.
refused() {
  local text=$1 n=$2 code=0
  timeout 60 "$mpirun" -n "$n" "${@:3}" >log 2>&1 || code=$?
  [ $code -ne 0 ] || { cat log && fail "not refused: ${*:3}"; }
  [ $code -ne 124 ] || { cat log && fail "hangs: ${*:3}"; }
  grep -qE -- "$text" log || { cat log && fail "no '$text' in the message of ${*:3}"; }
  echo "refused: $(grep -E -- "$text" log | head -1)"
}

make_scan() {
  one phantom --type shepp-logan --size 37,31,29 --spacing 1.5,1.5,1.5 -o phantom.mha
  one geometry circular --sid 200 --sdd 300 --projections "${1:-41}" -o scan.xml
  one project -i phantom.mha --geometry scan.xml --detector 53,93 --pixel 2,1 -o clean.mha
  one noise -i clean.mha --photons 2000 -o scan.mha
}
make_volume() {
  make_scan
  one fdk -i scan.mha --geometry scan.xml "${grid[@]}" --photons 2000 --variance-out variance.mha -o noisy.mha \
    --log-level error
}

test_fdk() {
  make_scan
  same v.mha -- fdk -i ../scan.mha --geometry ../scan.xml "${grid[@]}" -o v.mha
  same w.mhd w.raw -- fdk -i ../scan.mha --geometry ../scan.xml --size 17,19,93 --spacing 2,2.5,0.5 --hu 0.02 \
    --output-type int16 -o w.mhd
  same x.mha y.mha -- fdk -i ../scan.mha --geometry ../scan.xml "${grid[@]}" --photons 2000 --variance-out y.mha \
    -o x.mha --device-memory 3M
  # Rows of a turned detector are resampled from others.
  one geometry circular --sid 200 --sdd 300 --projections 41 --in-plane 7 -o turned.xml
  one project -i phantom.mha --geometry turned.xml --detector 53,193 --pixel 2,0.5 -o turned.mha
  same t.mha s.mha -- fdk -i ../turned.mha --geometry ../turned.xml --size 21,23,40 --spacing 2.5,2.5,2 --photons 2000 \
    --variance-out s.mha -o t.mha
}
test_fdk_denoise() {
  make_scan
  local fdk=(fdk -i ../scan.mha --geometry ../scan.xml "${grid[@]}")
  same v.mha -- "${fdk[@]}" --denoise pdu --alpha 20 --iterations 61 -o v.mha
  same w.mha u.mha s.mha -- "${fdk[@]}" --photons 2000 --denoise spdu --alpha 0.5/sigma --iterations 30 --undenoised u.mha \
    --variance-out s.mha -o w.mha
  same x.mha -- "${fdk[@]}" --hu 0.02 --output-type int16 --denoise tvgd -o x.mha
}
test_backproject() {
  make_scan 23
  same v.mha -- backproject -i ../scan.mha --geometry ../scan.xml "${grid[@]}" -o v.mha
  same w.mha -- backproject -i ../scan.mha --geometry ../scan.xml "${grid[@]}" --projector voxel -o w.mha
}
test_project() {
  make_scan 23
  same p.mha -- project -i ../phantom.mha --geometry ../scan.xml --detector 53,47 --pixel 2,2 -o p.mha
  same q.mha -- project -i ../phantom.mha --geometry ../scan.xml --detector 31,29 --pixel 3,3 --projector siddon -o q.mha
}
test_pdu() {
  make_volume
  same v.mha -- denoise -i ../noisy.mha --method pdu --alpha 20 --iterations 93 -o v.mha
  same w.mha -- denoise -i ../noisy.mha --method pdu -o w.mha
  same x.mha -- denoise -i ../noisy.mha --method pdu --alpha 20 --iterations 61 --device-memory 480K -o x.mha
}
test_spdu() {
  make_volume
  same v.mha -- denoise -i ../noisy.mha --method spdu --weights ../variance.mha --alpha 20 -o v.mha
}
test_tvgd() {
  make_volume
  same v.mha -- denoise -i ../noisy.mha --method tvgd -o v.mha
}
# The program is tests/mpi/program.cpp.
test_program() {
  make_scan
  same v.mha -- fdk -i ../scan.mha --geometry ../scan.xml "${grid[@]}" -o v.mha
  grep -c "v.mha: " run-2/log | grep -qx 2 || { cat run-2/log && fail "not two commands"; }
}
# The program is tests/mpi/progress.cpp.
test_progress() {
  on "${ranks[0]}" >log 2>&1 || { cat log && fail "exit code $?"; }
  grep "come without a call" log || { cat log && fail "no word of messages"; }
}
# The program is tests/mpi/mpi4py_program.sh.
test_mpi4py() {
  "$HALOCLINE_PYTHON" -c 'import mpi4py' 2>/dev/null || { echo "skipped: no mpi4py" && exit 77; }
  test_program
  same w.mha -- denoise -i ../run-1/v.mha --method pdu --alpha 20 --iterations 31 -o w.mha
  same x.mha -- reconstruct -i ../scan.mha --geometry ../scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5 --method cgls \
    --iterations 3 -o x.mha
  timeout $limit "$mpirun" -n "${ranks[0]}" "$HALOCLINE_PYTHON" "$(dirname "$halocline")/mpi4py_functions.py" >log 2>&1 || {
    cat log && fail "functions of the package"
  }
  grep "the same: jobs" log || { cat log && fail "functions of the package say nothing"; }
}
test_filters() {
  make_volume
  same v.mha -- denoise -i ../noisy.mha --method median -o v.mha
  same w.mha -- denoise -i ../noisy.mha --method gaussian --sigma 1.5 -o w.mha
  same x.mha -- denoise -i ../noisy.mha --method nlm -o x.mha
}

test_solvers() {
  make_scan 23
  local scan=(reconstruct -i ../scan.mha --geometry ../scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5)
  same v.mha -- "${scan[@]}" --method sirt --iterations 4 -o v.mha
  same w.mha -- "${scan[@]}" --method cgls --iterations 5 -o w.mha
  same x.mha -- "${scan[@]}" --method os-sart --iterations 2 -o x.mha
  same z.mha -- "${scan[@]}" --method cgls --iterations 3 --device-memory 210K -o z.mha
  same y.mha -- "${scan[@]}" --photons 2000 --lambda 20 --iterations 12 -o y.mha
  # Ranks make their slices of the image of FDK, or all begin without it.
  same s.mha -- "${scan[@]}" --method sirt --init fdk --iterations 3 -o s.mha
  same t.mha -- reconstruct -i ../scan.mha --geometry ../scan.xml --size 17,19,5 --spacing 3,3,3 --pad-volume 5 \
    --method os-sart --init fdk --device-memory 300K -o t.mha
  one geometry circular --sid 200 --sdd 300 --arc 90 --projections 23 -o arc.xml
  one project -i phantom.mha --geometry arc.xml --detector 53,93 --pixel 2,1 -o arc.mha
  same r.mha -- reconstruct -i ../arc.mha --geometry ../arc.xml --size 21,23,19 --spacing 2.5,2.5,2.5 --method sirt \
    --init fdk --iterations 2 -o r.mha
  grep -q "begin with a constant image" "run-${ranks[0]}/log" || fail "no word of a start that is refused"
  # Rows of more than a MiB a view travel as messages of their own.
  one geometry circular --sid 150 --sdd 300 --projections 6 -o wide.xml
  one project --phantom shepp-logan-hc --phantom-size 50 -g wide.xml --detector 2053,301 --pixel 0.05,0.4 -o wide.mha
  same u.mha -- reconstruct -i ../wide.mha --geometry ../wide.xml --size 21,23,19 --spacing 2.5,2.5,2.5 \
    --method cgls --iterations 2 -o u.mha
}

# resumes WHOLE COMMAND...: what a time limit leaves of a run of several ranks goes on with any number of them.
resumes() {
  local whole=$1 n
  shift
  for n in "${ranks[@]}"; do
    rm -f state
    on "$n" "$@" --checkpoint state --checkpoint-every 0 --time-limit 0.05 -o part.mha >log 2>&1 || { cat log && fail "time limit"; }
    [ -e state ] || { cat log && fail "no state is left of $n ranks"; }
    cp state "state-$n"
    one "$@" --checkpoint state --resume -o "alone-$n.mha" --log-level error
    cmp "$whole" "alone-$n.mha" || fail "resumed by one process"
    [ ! -e state ] || fail "a finished run leaves its state"
    cp "state-$n" state
    on $((n == 2 ? 3 : 2)) "$@" --checkpoint state --resume -o "again-$n.mha" >log 2>&1 || { cat log && fail "resume"; }
    cmp "$whole" "again-$n.mha" || fail "resumed by another number of ranks"
    echo "the same after a checkpoint of $n ranks: $*"
  done
}
test_checkpoint() {
  make_volume
  local run=(denoise -i noisy.mha --method pdu --alpha 20 --iterations 400 --gap 0)
  one "${run[@]}" -o whole.mha --log-level error
  resumes whole.mha "${run[@]}"
  run=(reconstruct -i scan.mha --geometry scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5 --method sirt --iterations 60)
  one "${run[@]}" -o whole.mha --log-level error
  resumes whole.mha "${run[@]}"
  run+=(--init fdk)
  one "${run[@]}" -o from-fdk.mha --log-level error
  ! cmp -s whole.mha from-fdk.mha || fail "the start has no effect"
  resumes from-fdk.mha "${run[@]}"
}

# SIGTERM to one rank ends all with the state of the same iteration.
test_signal() {
  make_volume
  local n=${ranks[0]} code=0
  local run=(denoise -i noisy.mha --method pdu --alpha 20 --gap 0 --checkpoint state --iterations)
  timeout 120 "$mpirun" -n "$n" bash -c 'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' - "$halocline" \
    "${run[@]}" 200000 -o v.mha >log 2>&1 &
  local launcher=$!
  until grep -q "pdu: .* %" log 2>/dev/null || ! kill -0 $launcher 2>/dev/null; do sleep 0.05; done
  kill -TERM "$(cat pid.$((n - 1)))"
  wait $launcher || code=$?
  [ $code -ne 0 ] && [ $code -ne 124 ] || { cat log && fail "exit code $code"; }
  [ -e state ] || { cat log && fail "no state is left"; }
  [ ! -e v.mha ] || fail "an interrupted run wrote its result"
  grep -q "goes on from there" log || { cat log && fail "no word of the state"; }
  echo "interrupted: $(grep "goes on from there" log | head -1)"
}

# A killed rank ends all at any moment; an older result remains, and another number of ranks goes on from the last state.
killed() {
  local n=${ranks[0]} moment resumed=0
  one "$@" -o whole.mha --log-level error
  for moment in begin+{0.1,0.3,0.5,0.8} state+{0,0.02,0.05,0.1,0.2,0.4}; do  # seconds after it began, or kept a state
    echo older >v.mha
    cp v.mha old
    rm -f state* pid.*
    timeout 60 "$mpirun" -n "$n" bash -c 'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' - "$halocline" \
      "$@" --checkpoint state "${checkpoints[@]}" -o v.mha >log 2>&1 &
    local launcher=$! code=0
    while [ ! -s "pid.$((n - 1))" ]; do sleep 0.02; done
    while [[ $moment = state* ]] && [ -z "$(ls state* 2>/dev/null)" ] && kill -0 $launcher 2>/dev/null; do sleep 0.01; done
    sleep "${moment#*+}"
    kill -9 "$(cat "pid.$((n - 1))")" 2>/dev/null || true
    wait $launcher || code=$?
    [ $code -ne 124 ] || { cat log && fail "hangs after a kill at $moment s: $*"; }
    if [ $code -eq 0 ]; then
      cmp whole.mha v.mha && continue  # it was done
      fail "exit code 0 after a kill at $moment s: $*"
    fi
    cmp old v.mha || cmp whole.mha v.mha || fail "the older result is lost: $*"
    [ -n "$(ls state* 2>/dev/null)" ] || continue
    on $((n == 2 ? 3 : 2)) "$@" --checkpoint state --resume -o again.mha >log 2>&1 || { cat log && fail "resume: $*"; }
    cmp whole.mha again.mha || fail "resumed after a kill at $moment s: $*"
    resumed=$((resumed + 1))
  done
  [ $resumed -gt 0 ] || fail "no run left a state: $*"
  echo "killed at ten moments, resumed $resumed times: $*"
}
test_killed() {
  make_volume
  local checkpoints=(--checkpoint-every 0)
  killed denoise -i noisy.mha --method pdu --alpha 20 --gap 0 --iterations 20000
  killed reconstruct -i scan.mha --geometry scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5 --method sirt --iterations 400
  make_scan 360
  checkpoints=()
  killed fdk -i scan.mha --geometry scan.xml --size 160,160,150 --spacing 0.35,0.35,0.35
}

# A killed rank of fdk leaves the slices that were finished, from which any number of ranks goes on.
test_fdk_checkpoint() {
  make_scan 360
  local n=${ranks[0]} other
  local run=(fdk -i scan.mha --geometry scan.xml --size 160,160,150 --spacing 0.35,0.35,0.35)
  one "${run[@]}" -o whole.mha
  for other in 1 2 3; do
    rm -f state* pid.*
    timeout 60 "$mpirun" -n "$n" bash -c 'echo $$ >pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' - "$halocline" \
      "${run[@]}" --checkpoint state -o v.mha >log 2>&1 &
    local launcher=$! code=0
    while [ ! -s "state.rank$((n - 1))" ] && kill -0 $launcher 2>/dev/null; do sleep 0.01; done
    kill -9 "$(cat "pid.$((n - 1))")" 2>/dev/null || true
    wait $launcher || code=$?
    [ $code -ne 124 ] || { cat log && fail "hangs after a kill"; }
    [ $code -ne 0 ] || { cat log && fail "was done before the kill"; }
    refused "state.* is there already" 2 "$halocline" "${run[@]}" --checkpoint state -o again.mha
    if [ $other -eq 1 ]; then
      timeout $limit "$halocline" "${run[@]}" --checkpoint state --resume -o again.mha >log 2>&1 || { cat log && fail "resume"; }
    else
      on $other "${run[@]}" --checkpoint state --resume -o again.mha >log 2>&1 || { cat log && fail "resume"; }
    fi
    grep -q "going on: [1-9][0-9]* of 150 slices are done" log || { cat log && fail "does not go on"; }
    cmp whole.mha again.mha || fail "resumed by $other"
    [ -z "$(ls state* 2>/dev/null)" ] || fail "a finished run leaves its state"
    echo "the same on $other ranks: $(grep "going on" log)"
  done
}

# Memory that runs out on the last rank: all plan again, and the bits are the same. Calls of OpenCL fail by a layer
# (tests/support/fault_layer.cpp), a run for each of some allocations and commands; what fails before the work begins ends
# the run.
test_memory() {
  [ -n "${HALOCLINE_FAULT_LAYER:-}" ] || { echo "skipped: no layer that makes calls fail" && exit 77; }
  make_volume
  local n=${ranks[0]} rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}' fault again code
  survives() {
    again=0
    one "$@" -o whole.mha --log-level error
    for fault in allocation:{2,3,4,6,9,14,20,27}:-4 enqueue:{4,9,25,60,120,250,500,900}:-5 wait:{5,20,90}:-5; do
      rm -f state v.mha
      code=0
      timeout 60 "$mpirun" -n "$n" bash -c "[ $rank = $((n - 1)) ] &&
        export OPENCL_LAYERS='$HALOCLINE_FAULT_LAYER' HALOCLINE_FAULT=$fault:once; exec \"\$@\"" - \
        "$halocline" "$@" -o v.mha --no-tune >log 2>&1 || code=$?
      [ $code -ne 124 ] || { cat log && fail "hangs after $fault: $*"; }
      if [ $code -ne 0 ]; then
        grep -q "rank $((n - 1)): " log || { cat log && fail "no rank in the message of $fault: $*"; }
        echo "ended after $fault: $(grep -m 1 "error: " log)"
        continue
      fi
      cmp whole.mha v.mha || fail "other bits after $fault: $*"
      ! grep -q "all ranks plan again" log || again=$((again + 1))
    done
    [ $again -gt 1 ] || { cat log && fail "the ranks did not plan again: $*"; }
    echo "the same after memory ran out $again times: $*"
  }
  survives denoise -i noisy.mha --method pdu --alpha 20 --gap 0 --iterations 93
  survives denoise -i noisy.mha --method pdu --alpha 20 --gap 0 --iterations 60 --checkpoint state --checkpoint-every 0
  survives denoise -i noisy.mha --method pdu --alpha 20 --iterations 61 --device-memory 480K
  survives fdk -i scan.mha --geometry scan.xml "${grid[@]}"
  survives fdk -i scan.mha --geometry scan.xml "${grid[@]}" --denoise pdu --alpha 20 --iterations 31 --gap 0 \
    --device-memory 500K
  survives project -i phantom.mha --geometry scan.xml --detector 53,47 --pixel 2,2
  local scan=(reconstruct -i scan.mha --geometry scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5)
  survives "${scan[@]}" --method cgls --iterations 5 --checkpoint state --checkpoint-every 0
  survives "${scan[@]}" --method os-sart --iterations 2
  survives "${scan[@]}" --method sirt --init fdk --iterations 1
}

# Ranks with a folder of caches each: one tuning counts for all, and a form that one of them computes wrongly for none.
test_tuning() {
  [ -n "${HALOCLINE_STORE_TUNING:-}" ] || { echo "skipped: no program that stores tuning" && exit 77; }
  local n=${ranks[0]} rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
  local run=(denoise -i phantom.mha --method pdu --alpha 20 --gap 0 --iterations 31)
  make_scan 23
  one "${run[@]}" -o whole.mha
  tuned() { HALOCLINE_CACHE_DIR=$PWD/cache.$1 "$HALOCLINE_STORE_TUNING" "stages of pdu" "$2"; }
  # agree KERNEL ITERATIONS TEXT: the bits of one process, by that kernel with so many iterations a pass, with TEXT in
  # the output.
  agree() {
    timeout $limit "$mpirun" -n "$n" bash -c \
      "export HALOCLINE_CACHE_DIR=\$PWD/cache.$rank; [ ! -d cl.$rank ] || export HALOCLINE_CL_PATH=\$PWD/cl.$rank; exec \"\$@\"" - \
      "$halocline" "${run[@]}" -o v.mha --report report.json >log 2>&1 || { cat log && fail "not the same by $1"; }
    cmp whole.mha v.mha || fail "other bits by $1"
    grep -q "$3" log || { cat log && fail "no '$3' in the output"; }
    grep -q "\"$1\"" report.json || { grep -A9 '"kernels"' report.json && fail "not by $1"; }
    grep -q "\"iterations_a_pass\": $2\b" report.json || { grep '"iterations_a_pass"' report.json && fail "not $2 iterations a pass"; }
    echo "the same by $1, iterations a pass $2: $(grep -o "$3" log | head -1)"
  }
  tuned 1 2
  agree pdu_fused_iterate 2 "all ranks take the tuning of rank 1"
  tuned 0 1
  agree pdu_fused_iterate 1 "all ranks take the tuning of rank 0"
  mkdir cl.1
  { echo "#define KERNELS_VERSION 1" && sed 's/lambda = pass.lambda/lambda = 0.9f * pass.lambda/' "$sources/cl/pdu_fused.cl"; } \
    >cl.1/pdu_fused.cl
  ! cmp -s "$sources/cl/pdu_fused.cl" <(tail -n +2 cl.1/pdu_fused.cl) || fail "pdu_fused.cl is not made wrong"
  agree pdu_primal 0 "rank 1: PDU, 1 iteration a pass is wrong"
  rm -r cl.1
  run=(fdk -i scan.mha --geometry scan.xml --size 21,23,19 --spacing 2,2,2 --denoise pdu --alpha 20 --gap 0 --iterations 31)
  one "${run[@]}" -o whole.mha
  agree pdu_fused_iterate 1 "all ranks take the tuning of rank 0"
}

# Bytes between ranks are as --dry-run and the report predict them, and the trace has all ranks.
test_traffic() {
  make_volume
  local n=${ranks[0]}
  traffic() {
    on "$n" "$@" -o v.mha --report report.json --trace trace.json >log 2>&1 || { cat log && fail "$*"; }
    if python3 -B "$sources/benchmarks/message_overlap.py" trace.json >log 2>&1; then
      [ "$(grep -c "^rank .* %$" log)" = "$n" ] || { cat log && fail "overlap of $*"; }
    else  # sart sends a view at a time
      grep -q "no messages of 4096 bytes or more" log || { cat log && fail "overlap of $*"; }
    fi
    python3 - "$n" "$*" <<'PY'
import json, sys
ranks, what = int(sys.argv[1]), sys.argv[2]
for run in json.load(open("report.json"))["runs"].values():
    predicted, actual = run["predicted"].get("rank_bytes", 0), run["actual"]["rank_bytes"]
    assert len(run["sent_by_rank"]) == ranks and sum(run["sent_by_rank"]) == actual, run["sent_by_rank"]
    assert abs(predicted - actual) <= 0.05 * actual, f"{what}: {predicted} bytes between ranks predicted, {actual} sent"
    print(f"{predicted} bytes predicted, {actual} sent: {what}")
events = json.load(open("trace.json"))["traceEvents"]
names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
assert sorted({name[:6] for name in names}) == [f"rank {n}" for n in range(ranks)], names
assert {f"rank {n}: messages" for n in range(ranks)} <= set(names), names
begun = {event["id"]: event for event in events if event["ph"] == "b"}
ended = {event["id"]: event for event in events if event["ph"] == "e"}
assert begun and begun.keys() == ended.keys(), "messages that do not end"
assert all(begun[n]["ts"] <= ended[n]["ts"] for n in begun), "messages that end before they begin"
times = [event["ts"] for event in events if event["ph"] == "X"]
assert min(times) < min(event["ts"] for event in begun.values()), "messages before all commands: another clock"
assert max(event["ts"] for event in begun.values()) < max(times), "messages after all commands: another clock"
PY
  }
  local denoise=(denoise -i noisy.mha) method
  traffic "${denoise[@]}" --method pdu --alpha 20 --gap 0 --iterations 93 --device-memory 400K
  traffic "${denoise[@]}" --method pdu --alpha 20 --gap 0 --iterations 61
  traffic "${denoise[@]}" --method tvgd
  local scan=(reconstruct -i scan.mha --geometry scan.xml --size 31,33,29 --spacing 1.5,1.5,1.5)
  for method in cgls lsqr ba-gmres fdk sirt sart os-sart asd-pocs nesterov mlem osem; do
    traffic "${scan[@]}" --method $method --iterations 3
  done
  for method in spdhg fista os-fista; do
    traffic "${scan[@]}" --method $method --lambda 0.01 --gap 0 --iterations 4
  done
  traffic "${scan[@]}" --method cgls --iterations 3 --device-memory 300K
  # Each rank makes its slices of the image to begin with, and sends none.
  traffic "${scan[@]}" --method sirt --init fdk --iterations 3
  python3 - "$n" <<'PY'
import json
start = json.load(open("report.json"))["runs"]["fdk"]
assert start["actual"]["rank_bytes"] == 0, start["actual"]
slabs = [slab["interior"] for slab in start["plan"]["slabs"]]
slices = max(slab[1] for slab in slabs) - min(slab[0] for slab in slabs)
assert slices < 20, f"{slices} of 29 slices are made on rank 0: {slabs}"
PY
  # Ranks share the rows of a high detector: far less than all rows travel, which an iteration makes once.
  one project --phantom shepp-logan-hc --phantom-size 40 -g scan.xml --detector 53,640 --pixel 2,0.15 -o high.mha
  traffic reconstruct -i high.mha --geometry scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5 --method cgls --iterations 9
  python3 - "$n" <<'PY'
import json, sys
(run,) = json.load(open("report.json"))["runs"].values()
rows = run["actual"]["rank_bytes"] / (9 * 53 * 4 * 41) / (int(sys.argv[1]) - 1)
assert rows < 320, f"{rows} rows of 640 an iteration and border"
print(f"{rows:.0f} of 640 rows travel an iteration and border")
PY
  on "$n" "${denoise[@]}" --method pdu --alpha 20 -o v.mha --dry-run >log 2>&1
  grep -q "between ranks: " log || { cat log && fail "no traffic in --dry-run"; }
  on "$n" "${scan[@]}" --method cgls -o v.mha --dry-run >log 2>&1
  grep -q "between ranks: " log || { cat log && fail "no traffic in --dry-run of reconstruct"; }
  on "$n" "${scan[@]}" --method fdk -o v.mha --dry-run >log 2>&1
  grep -q "each rank makes its slices of the image to begin with" log || { cat log && fail "no start in --dry-run"; }
}

# Ranks read the detector rows that their slabs see, and all rows where a value depends on the whole scan.
test_reading() {
  local n=${ranks[0]} scan
  make_scan
  one project --phantom shepp-logan-hc --phantom-size 40 -g scan.xml --detector 107,1920 --pixel 1,0.05 -o high.mha
  scan=(-i "$PWD/high.mha" --geometry "$PWD/scan.xml" --size 21,23,19 --spacing 2.5,2.5,2.5)
  same v.mha -- reconstruct "${scan[@]}" --iterations 2 --method cgls -o v.mha
  same v.mha -- reconstruct "${scan[@]}" --iterations 2 --method spdhg --lambda 0.01 --photons 2000 --electronic 5 -o v.mha
  same v.mha -- reconstruct "${scan[@]}" --iterations 1 --method sirt --init fdk -o v.mha
  same v.mha -- backproject "${scan[@]}" -o v.mha
  same w.mha v.mha -- fdk "${scan[@]}" --photons 2000 --variance-out w.mha -o v.mha
  cat >counted.sh <<'SH'
name=$1
shift
"$@" || exit
[ ! -r /proc/$$/io ] || sed -n 's/^rchar: //p' /proc/$$/io >"$name.${OMPI_COMM_WORLD_RANK:-${PMI_RANK}}"
SH
  counted() {
    timeout $limit "$mpirun" -n "$n" bash counted.sh "$1" "$halocline" "$2" "${scan[@]}" "${@:3}" -o v.mha >log 2>&1 ||
      { cat log && fail "$*"; }
  }
  counted plan reconstruct --method cgls --dry-run
  counted cgls reconstruct --iterations 2 --method cgls
  counted weights reconstruct --iterations 2 --method spdhg --lambda 0.01 --photons 2000  # from the image of FDK
  counted backproject backproject
  counted fdk fdk --photons 2000 --variance-out w.mha
  counted whole reconstruct --iterations 2 --method cgls --allow-nonfinite
  [ -e "cgls.0" ] || { echo "no bytes that a process read are known here" && return; }
  python3 - "$n" <<'PY'
import os, sys
whole = os.path.getsize("high.mha")
for rank in range(int(sys.argv[1])):
    read = lambda run: (int(open(f"{run}.{rank}").read()) - int(open(f"plan.{rank}").read())) / whole
    jobs = ("cgls", "weights", "backproject", "fdk", "whole")
    print(f"rank {rank}: of the file", *(f"{job} {read(job):.2f}" for job in jobs))
    # the first one also looks at 12 of 41 views, for warnings
    assert all(0.4 < read(job) < 0.8 + (0.3 if rank == 0 else 0) for job in jobs[:-1])
    assert read("whole") >= 1
PY
}

# Whole runs on 1, 2, ... ranks with the same bits.
test_bench() {
  local n=${ranks[0]}
  on "$n" bench scaling --size 44 --jobs pdu,tvgd,fdk,project,backproject,cgls,os-sart --iterations 3 --runs 1 --weak \
    --no-tune --json >rows.json 2>log || { cat log && fail "bench scaling"; }
  python3 - "$n" <<'PY'
import json, sys
runs, ranks = json.load(open("rows.json"))["runs"], int(sys.argv[1])
counts = sorted({min(count, ranks) for count in (2, 4, 8)})
teams = ["1 rank"] + [f"{n} ranks" for n in counts] + [f"{n} ranks, {n} times the slices" for n in counts]
for job in "pdu tvgd fdk project backproject cgls os-sart".split():
    rows = {run["team"]: run for run in runs if run["job"] == job}
    assert sorted(rows) == sorted(teams), rows.keys()
    assert all(row["seconds"] > 0 for row in rows.values()), rows
    assert all(rows[team]["same_bits"] for team in teams if "slices" not in team), rows
    assert [rows[team]["devices"] for team in teams] == [1] + counts + counts, rows
print("the same bits:", ", ".join(teams))
PY
  refused "out-of-core is for one process" "$n" "$halocline" bench scaling --size 24 --jobs fdk --out-of-core 1M
}

test_refused() {
  make_scan 7
  local rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}' n=${ranks[0]}
  refused "rank 0: error: slices does not run on several ranks" "$n" "$halocline" slices -i scan.mha \
    --geometry scan.xml -o a.mha,b.mha,c.mha
  refused "phantom does not run on several ranks" "$n" "$halocline" phantom --type blade --size 9,9,9 --spacing 1,1,1 -o x.mha
  refused "project --phantom does not run" "$n" "$halocline" project --phantom blade --phantom-size 30 --geometry scan.xml \
    --detector 9,9 --pixel 3,3 -o x.mha
  refused "denoise .*--png.* does not run" "$n" "$halocline" denoise -i phantom.mha --method median --png a.png -o v.mha
  refused "there is no option|--wrong|not expected" "$n" "$halocline" fdk --wrong
  refused "rank [0-4] would have nothing to do" 5 "$halocline" fdk -i scan.mha --geometry scan.xml --size 9,9,3 \
    --spacing 3,3,3 -o v.mha
  refused "rank 1 has --input" "$n" bash -c "exec '$halocline' fdk -i scan.$rank.mha --geometry scan.xml -o v.mha"
  refused "rank 1 has another command" "$n" bash -c \
    "[ $rank = 0 ] && exec '$halocline' fdk -i scan.mha --geometry scan.xml -o v.mha; exec '$halocline' denoise -i scan.mha --method median -o v.mha"
  mkdir -p at.0 at.1 at.2
  local r
  for r in 0 1 2; do cp scan.mha scan.xml phantom.mha "at.$r"; done
  cp clean.mha at.1/scan.mha
  refused "'scan.mha': rank 1 sees .* and rank 0" 2 bash -c \
    "cd at.$rank && exec '$halocline' fdk -i scan.mha --geometry scan.xml -o v.mha"
  rm at.1/scan.mha
  for r in 0 1; do one fdk -i scan.mha --geometry scan.xml --size 9,9,9 --spacing 3,3,3 -o "at.$r/split.mhd"; done
  printf '\1' | dd of=at.1/split.raw bs=1 seek=1501 conv=notrunc status=none
  refused "'split.mhd': rank 1 sees 2 files" 2 bash -c \
    "cd at.$rank && exec '$halocline' denoise -i split.mhd --method median -o v.mha"
  refused "rank 1: error: .*scan.mha" 2 bash -c "cd at.$rank && exec '$halocline' fdk -i scan.mha --geometry scan.xml -o v.mha"
  refused "rank 1: error: .*which another process began" 2 bash -c \
    "cd at.$rank && exec '$halocline' denoise -i phantom.mha --method median -o v.mha"
  refused "rank 1: error: .*device" 2 bash -c \
    "[ $rank = 1 ] && export OCL_ICD_VENDORS=/nowhere; exec '$halocline' fdk -i scan.mha --geometry scan.xml -o v.mha"
  refused "rank 1 has another command than rank 0: .fdk --help" 2 bash -c \
    "[ $rank = 1 ] && exec '$halocline' fdk --help; exec '$halocline' denoise -i phantom.mha --method median -o v.mha"
  refused "give each command a launch of its own" 2 bash -c \
    "'$halocline' denoise -i phantom.mha --method median -o first.mha && exec '$halocline' denoise -i phantom.mha --method median -o v.mha"
  cmp first.mha <(one denoise -i phantom.mha --method median -o one.mha >/dev/null && cat one.mha)
  [ "$(on 2 --version 2>/dev/null | grep -c '^halocline ')" = 1 ] || fail "--version of several ranks"
  [ ! -e v.mha ] || fail "a refused job wrote v.mha"
  [ -z "$(find . -name '.halocline-*')" ] || fail "a temporary file is left"
  HALOCLINE_MPI=off timeout 60 "$mpirun" -n 2 bash -c \
    "exec '$halocline' denoise -i phantom.mha --method median -o off.$rank.mha --quiet"
  cmp off.0.mha off.1.mha
}

"test_$program"
