#!/usr/bin/env bash
# Runs every example of a Markdown page, in order, in one empty folder, as a reader would.
#   run_examples.sh HALOCLINE PAGE.md FOLDER
# Examples are the blocks fenced with ```sh. A block behind the comment <!-- not run: why --> is left out. What the reader
# has already (a scan, say) is made by such a comment:
#   <!-- given
#   commands
#   -->
set -euo pipefail
halocline=$(realpath "$1")
page=$(realpath "$2")
folder=$3
EXAMPLES=$(dirname "$(realpath "$0")")/support
export EXAMPLES  # where what examples are given is made
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
awk '
  /^<!-- given$/ { given = 1; next }
  given && /^-->$/ { given = 0; next }
  given { print; next }
  /^<!-- not run/ { skip = 1; next }
  /^```sh$/ { inside = !skip; skip = 0; fenced = 1; next }
  /^```/ { inside = 0; next }
  inside { print }
' "$page" >.commands
count=$(grep -c '^halocline ' .commands || true)
if [ "$count" -eq 0 ]; then
  echo "$page has no example that runs" >&2
  exit 1
fi
cat >.script <<'SCRIPT'
set -eEuo pipefail
trap 'echo "FAILED: $BASH_COMMAND" >&2' ERR
SCRIPT
cat .commands >>.script
mkdir .bin
ln -s "$halocline" .bin/halocline
PATH=$PWD/.bin:$PATH bash .script
echo "$count commands of $(basename "$page") passed"
