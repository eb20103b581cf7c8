#!/usr/bin/env bash
# Joules of a meter that always says 40 watts.
#   energy_test.sh HALOCLINE PYTHON FOLDER
set -euo pipefail
halocline=$(realpath "$1")
python=$2
mkdir -p "$3"
folder=$(realpath "$3")
script=$(dirname "$(dirname "$(realpath "$0")")")/benchmarks/energy.py
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
printf '#!/bin/sh\nwhile :; do echo 40; sleep 0.01; done\n' >meter
chmod +x meter
mkdir bin
cat >bin/nvidia-smi <<'SH'
#!/bin/sh
echo 41.25
case "$*" in *-lms*) while :; do echo 41.25; sleep 0.01; done ;; esac
SH
cat >bin/rocm-smi <<'SH'
#!/bin/sh
sleep 0.01
echo '{"card0": {"Average Graphics Package Power (W)": "42.5"}}'
SH
chmod +x bin/*
energy() { "$python" -B "$script" --halocline "$halocline" --idle 0.3 --runs 1 "$@"; }

energy --meter ./meter --size 48 --views 60 --slices 4 --operators rays --iterations 800 --fewer 10 --json rows.json
energy --meter ./meter --size 16 --views 20 --slices 3 --beam parallel --operators matrix --iterations 1500 --fewer 10
small=(--size 16 --views 20 --slices 3 --operators rays --iterations 1500 --fewer 10)
PATH=$folder/bin:$PATH energy "${small[@]}" | grep "^Power by nvidia-smi, card 0; 41.25 W at rest.$" >/dev/null
PATH=$folder/bin:$PATH energy "${small[@]}" --source rocm-smi | grep "^Power by rocm-smi, card 0; 42.5 W at rest.$" >/dev/null
"$python" - <<'PYTHON'
import json

row, = json.load(open("rows.json"))
assert row["source"] == "./meter" and row["name"] == "cgls, rays", row
assert abs(row["watts"] - 40) < 0.01 and abs(row["idle_watts"] - 40) < 0.01, row
assert abs(row["joules"] - 40 * row["seconds"]) < 1e-3 * row["joules"], row
assert abs(row["joules_an_iteration"] * 790 - row["joules"]) < 1e-6 * row["joules"], row
assert abs(row["joules_an_image"] * 4 - row["joules_an_iteration"] * 800) < 1e-6 * row["joules"], row
assert abs(row["joules_an_image_above_idle"]) < 1e-2 * row["joules_an_image"], row
PYTHON

refused() {
  local words=$1
  shift
  if energy "$@" >out 2>&1; then
    echo "not refused: $*" >&2
    exit 1
  fi
  grep -q -- "$words" out || {
    cat out >&2
    exit 1
  }
}
refused "expected a number of watts" --meter "echo forty"
refused "gave 1 samples" --meter "echo 40"
refused "expected less than --iterations" --meter ./meter --iterations 5 --fewer 5
PATH=/usr/bin:/bin refused "no power to read from rocm-smi" --source rocm-smi
