#!/usr/bin/env bash
# What halocline bench prints as JSON becomes a page of results.
#   write_results_test.sh HALOCLINE PYTHON FOLDER
set -euo pipefail
halocline=$(realpath "$1")
python=$2
folder=$3
script=$(dirname "$(dirname "$(realpath "$0")")")/benchmarks/write_results.py
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
write() { "$python" "$script" --folder "$folder" "$@"; }

"$halocline" bench denoise --size 12 --method pdu --forms in-place --seconds 0.01 --json >denoise.out
"$halocline" bench project --size 12 --modes joseph --seconds 0.01 --json >project.out
"$halocline" bench fdk --size 12 --modes exact --seconds 0.01 --report fdk.out >fdk.txt
"$halocline" bench scaling --size 16 --jobs pdu --iterations 4 --runs 1 --json >scaling.out
write --add device "Denoising" denoise.out halocline bench denoise --size 12
write --add device "Projection" project.out halocline bench project --size 12
write --add device "FDK" fdk.out halocline bench fdk --size 12
write --add device "Scaling" scaling.out halocline bench scaling --size 16
write --add device "FDK" fdk.out halocline bench fdk --size 12 # in place of the first
cat >kernels.out <<'JSON'
{"context": {"device": "some GPU", "copy_GB_per_s": "40.0", "host_name": "whose"},
 "benchmarks": [{"name": "iterate/pdu", "real_time": 1.25, "cpu_time": 1, "time_unit": "ms", "iterations": 9, "GUPS": 3.5}]}
JSON
write --add device "Kernels" kernels.out halocline_bench --benchmark_format=json
write --check
"$halocline" bench device --device 0 --size 16 --seconds 0.001 --quiet --report card.out >card.txt
compare() { "$python" "$(dirname "$script")/compare_devices.py" --folder "$folder" "$@"; }
compare card.out
compare card.out # the same device: its card is replaced
[ "$(find devices -name '*.json' | wc -l)" -eq 1 ]
grep -q '^| project | joseph | rays | ' devices.md
write --check
if compare fdk.out 2>no-card.txt; then
  echo "a file of another bench passed for a card" >&2
  exit 1
fi
grep -q "fdk.out is no file of 'halocline bench device --report'" no-card.txt

expect() {
  grep -q -- "$1" device.md || {
    echo "device.md has no '$1':" >&2
    cat device.md >&2
    exit 1
  }
}
expect '^## Denoising$'
expect '^`halocline bench denoise --size 12`$'
expect '^| pdu | in-place | '
expect '^| joseph | '
expect '^| exact | '
expect '^| pdu | 16 | 4 | 1 device | 1 | 1 | '
expect '^| iterate/pdu | 1.25 ms | 3.5 |$'
[ "$(grep -c '^## ' device.md)" -eq 5 ]
if grep -q 'whose' device.json; then
  echo "the name of the computer was kept" >&2
  exit 1
fi

echo >>device.md
if write --check 2>stale.txt; then
  echo "a page that was edited by hand passed" >&2
  exit 1
fi
grep -q 'device.md is not what' stale.txt
echo '{"title": "Long", "about": "", "sections": [{"title": "t", "command": "c", "columns": ["n"], "rows": [' >long.json
for n in $(seq 160); do printf '%s["%d"]' "$([ "$n" -eq 1 ] || echo ,)" "$n" >>long.json; done
echo ']}]}' >>long.json
if write 2>long.txt; then
  echo "a page of more than 150 lines passed" >&2
  exit 1
fi
grep -q 'at most 150' long.txt
