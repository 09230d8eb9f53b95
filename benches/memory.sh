#!/bin/sh
# Largest resident memory of training runs: growth with chains, hidden units and rows.
#
#     benches/memory.sh [FOLDER OF THE DATA]
#
# Each row is one short run of configs/mnist.toml (60000 images) or of synthetic rows; ru_maxrss of the process.
# The whole run counts: loading, training with the tracker, an evaluation, the annealing audit, a checkpoint.
set -eu
cd "$(dirname "$0")/.."
export ZTRACK_DATA="${1:-${ZTRACK_DATA:-../shared/datasets}}"
target="${CARGO_TARGET_DIR:-target}"
[ -x "$target/release/ztrack" ] || cargo build --release
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Resident high-water mark in MiB of `ztrack train CONFIG --set ...`.
peak() {
    python3 - "$target/release/ztrack" train "$@" --out "$out/run" --quiet <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}")
PY
    rm -rf "$out/run"
}

short="--set training.updates=20 --set evaluation.every=10 --set checkpoint.every=10 --set audit.temperatures=50
    --set tempering.initial_rounds.most=1 --set tempering.initial_rounds.sweeps=5"

row() {
    printf '%-44s ' "$1"
    shift
    # shellcheck disable=SC2086
    peak "$@" $short
}

printf '%-44s %s\n' "784x500" "MiB"
for chains in 100 2000 4000 8000; do
    row "MNIST, $chains chains" configs/mnist.toml --set tempering.chains=$chains
done
row "MNIST, 2000 chains, 2000 particles" configs/mnist.toml --set tempering.chains=2000 --set training.batch=2000
synthetic() {
    sed "s/^source = .*/source = { name = \"bars-and-stripes\", side = 28, rows = $1 }/; /^binarization/d" \
        configs/mnist.toml > "$out/rows.toml"
    row "$1 generated rows, $2 chains" "$out/rows.toml" --set tempering.chains="$2"
}
for chains in 100 500 1000 2000 4000; do synthetic 1000 $chains; done
for rows in 60000 240000; do synthetic $rows 100; done
