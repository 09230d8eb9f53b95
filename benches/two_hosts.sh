#!/bin/bash
# One run on two "hosts" of this machine: network namespaces with names and addresses of their own, joined by a cable (veth), so
# that ranks find no shared memory and talk TCP. The run must have the bytes of one process.
#
#     benches/two_hosts.sh [RATE]
#
# RATE, as in 1gbit, slows the cable down (tc). Needs root, Open MPI, and a build with `--features mpi`.
set -euo pipefail
cd "$(dirname "$0")/.."
ztrack=$(realpath "${CARGO_TARGET_DIR:-target}/release/ztrack")
out=$(mktemp -d)

clean() {
    ip netns del ztrack-a 2>/dev/null || true
    ip netns del ztrack-b 2>/dev/null || true
    rm -rf /etc/netns/ztrack-a /etc/netns/ztrack-b "$out"
}
trap clean EXIT

for host in a b; do
    ip netns add "ztrack-$host"
    # `ip netns exec` puts these in the place of the files in /etc.
    mkdir -p "/etc/netns/ztrack-$host"
    printf '127.0.0.1 localhost\n10.77.0.1 ztrack-a\n10.77.0.2 ztrack-b\n' >"/etc/netns/ztrack-$host/hosts"
done
ip link add ztrack-a netns ztrack-a type veth peer name ztrack-b netns ztrack-b
number=1
for host in a b; do
    ip -n "ztrack-$host" addr add "10.77.0.$number/24" dev "ztrack-$host"
    ip -n "ztrack-$host" link set "ztrack-$host" up
    ip -n "ztrack-$host" link set lo up
    if [ -n "${1:-}" ]; then
        ip netns exec "ztrack-$host" tc qdisc add dev "ztrack-$host" root tbf rate "$1" burst 64kb latency 50ms
    fi
    number=$((number + 1))
done

# Runs a command on a host: what ssh is to Open MPI.
cat >"$out/on" <<'ON'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
ON
chmod +x "$out/on"

settings=(bars-and-stripes --set training.updates=300 --set evaluation.every=100 --quiet)
"$ztrack" train "${settings[@]}" --out "$out/one" >/dev/null

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$out/on" ztrack-a mpirun -n 2 --host ztrack-a:1,ztrack-b:1 --bind-to none \
    --mca plm_rsh_agent "$out/on" --mca pml ob1 --mca btl self,tcp \
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
    -x PATH sh -c "'echo rank \$OMPI_COMM_WORLD_RANK of \$OMPI_COMM_WORLD_SIZE on \$(hostname) >&2; exec $ztrack train ${settings[*]} --out $out/two'" >/dev/null

came=$(ip -n ztrack-a -s link show ztrack-a | awk '/RX:/ { getline; print $1 }')
awk -v bytes="$came" 'BEGIN { printf "%.1f MB came over the cable\n", bytes / 1e6 }'
[ "${came:-0}" -gt 1000000 ] || { echo "the ranks did not talk over the cable"; exit 1; }
for model in best last; do
    cmp "$out/one/$model.safetensors" "$out/two/$model.safetensors"
done
echo "the same bytes on one host and on two"
