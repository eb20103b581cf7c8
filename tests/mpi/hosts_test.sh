#!/usr/bin/env bash
# Ranks on two hosts with TCP between them, which are network namespaces of this computer, give the bits of one process.
# Exit code 77, skipped: namespaces are not allowed here.
# With MESSAGES, the program of messages.cpp, prints how fast these are, and does no more.
#   hosts_test.sh HALOCLINE MPIRUN FOLDER [MESSAGES]
set -euo pipefail
halocline=$(realpath "$1")
mpirun=$2
messages=${4:+$(realpath "$4")}
rm -rf "$3"
mkdir -p "$3"
cd "$3"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
a=halocline-a-$$ b=halocline-b-$$
if ! command -v ip >/dev/null || ! ip netns add "$a" 2>/dev/null; then
  echo "skipped: no network namespaces (iproute2, and the right to make them)"
  exit 77
fi
trap 'ip netns del "$a"; ip netns del "$b"' EXIT
ip netns add "$b"
ip link add hl0 netns "$a" type veth peer name hl1 netns "$b"
ip -n "$a" addr add 10.77.0.1/24 dev hl0
ip -n "$b" addr add 10.77.0.2/24 dev hl1
for space in "$a" "$b"; do ip -n "$space" link set lo up; done
ip -n "$a" link set hl0 up
ip -n "$b" link set hl1 up

# In place of ssh: [OPTION...] HOST COMMAND...
cat >agent <<SH
#!/usr/bin/env bash
while [[ \$1 == -* ]]; do shift; done
[ "\$1" = 10.77.0.1 ] && space=$a || space=$b
shift
exec ip netns exec \$space bash -c "\$*"
SH
chmod +x agent
if [[ $("$mpirun" --version) =~ Open\ MPI|OpenRTE|PRRTE ]]; then
  launch=("$mpirun" --host 10.77.0.1:1,10.77.0.2:2 --mca plm_rsh_agent "$PWD/agent" --mca btl "tcp,self" --mca pml ob1
    -x HALOCLINE_CACHE_DIR)
else
  launch=("$mpirun" -hosts 10.77.0.1:1,10.77.0.2:2 -launcher ssh -launcher-exec "$PWD/agent")
fi
if [ -n "$messages" ]; then
  timeout 200 ip netns exec "$a" "${launch[@]}" -n 2 "$messages"
  exit
fi

one() { timeout 200 "$halocline" "$@" --quiet --log-level error; }
one phantom --type shepp-logan --size 37,31,29 --spacing 1.5,1.5,1.5 -o phantom.mha
one geometry circular --sid 200 --sdd 300 --projections 23 -o scan.xml
one project -i phantom.mha --geometry scan.xml --detector 53,47 --pixel 2,2 -o clean.mha
one noise -i clean.mha --photons 2000 -o scan.mha
grid=(--geometry scan.xml --size 21,23,19 --spacing 2.5,2.5,2.5)
same() {
  one "$@" -o one.mha
  timeout 200 ip netns exec "$a" "${launch[@]}" -n 3 "$halocline" "$@" -o hosts.mha >log 2>&1 || { cat log && exit 1; }
  cmp one.mha hosts.mha
  echo "the same on two hosts: $*"
}
same fdk -i scan.mha "${grid[@]}"
cp one.mha noisy.mha
same denoise -i noisy.mha --method tvgd
same reconstruct -i scan.mha "${grid[@]}" --method cgls --iterations 4
