#!/usr/bin/env bash
# Folders of packages that are the same, differ, or have a file that the other one lacks.
#   compare_packages_test.sh FOLDER
set -euo pipefail
script=$(dirname "$(dirname "$(realpath "$0")")")/packaging/compare-packages
rm -rf "$1"
mkdir -p "$1"
cd "$1"

# expect CODE TEXT: of one/ and another/.
expect() {
  local code=0 text
  text=$("$script" one another 2>&1) || code=$?
  [ $code -eq "$1" ] && grep -qF -- "$2" <<<"$text" || { echo "FAILED: expected code $1 and '$2'; got $code: $text" && exit 1; }
}

expect 2 "No such file or directory"
mkdir one another
expect 1 "no packages are in one and another"
for folder in one another; do
  echo "built in $folder" >$folder/a.buildinfo
done
expect 1 "no packages are in one and another"
for folder in one another; do
  echo package >$folder/a.deb
done
expect 0 "the same bytes: a.deb"
echo more >another/b.deb
expect 1 "in one folder alone: another/b.deb"
mv another/b.deb one
expect 1 "in one folder alone: one/b.deb"
rm one/b.deb
echo another >another/a.deb
expect 1 "differ: one/a.deb and another/a.deb"
echo "differences of packages are found"
