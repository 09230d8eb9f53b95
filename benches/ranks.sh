#!/bin/bash
# What ranks cost: one update of the tempered gradient (784 x 500, 5 sweeps of all chains), by ranks and threads.
#
#     benches/ranks.sh [ROUNDS] [CHAINS ...]
#
# Rounds alternate between all layouts, and the table has the least time of each: on a machine that others use too, means
# measure the others. Needs Open MPI and a build with `--features mpi`; LAYOUTS="1x2 2x1" (ranks x threads) picks others.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
shift || true
chains=("${@:-2000}")
ztrack=$(realpath "${CARGO_TARGET_DIR:-target}/release/ztrack")
layouts=(${LAYOUTS:-1x2 2x1 1x1 4x1})
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

updates=${UPDATES:-8}
settings=(--set "data.source={ name = \"bars-and-stripes\", side = 28, rows = 2000, noise = 0.02 }"
    --set data.validation_fraction=0 --set data.test_fraction=0 --set training.early_stopping=false
    --set model.hidden=500 --set averaging.window=0 --set training.updates="$updates"
    --set tempering.temperatures=50 --set tempering.sweeps=5 --set "tempering.settling={ sweeps = 3, most = 3 }"
    --set "tempering.initial_rounds={ sweeps = 1, most = 1, annealed_start = false }"
    --set evaluation.every=1000 --set evaluation.train_rows=100 --set evaluation.images_every=0
    --set audit.every=0 --set audit.temperatures=2 --set audit.chains=2)

# Milliseconds an update, and the share of the time spent on other ranks.
one() {
    local ranks=${1%x*} threads=${1#*x}
    rm -rf "$out/run"
    local start=()
    [ "$ranks" = 1 ] || start=(mpirun -n "$ranks" --oversubscribe --bind-to none)
    "${start[@]}" "$ztrack" train bars-and-stripes "${settings[@]}" --set tempering.chains="$2" \
        --threads "$threads" --out "$out/run" >/dev/null 2>"$out/err"
    python3 - "$out/run/summary.json" "$updates" "$out/err" <<'PY'
import json, re, sys
times = json.load(open(sys.argv[1]))["times"]
spent = 1e3 * (times["updates"] + times["tracking"]) / int(sys.argv[2])
share = re.search(r"(\d+) % of the time", open(sys.argv[3]).read())
print(f"{spent:.1f} {share[1] if share else 0}")
PY
}

printf '%-8s %-16s %14s %10s %s\n' chains "ranks x threads" "ms an update" "relative" "with other ranks"
for count in "${chains[@]}"; do
    for ((round = 0; round < rounds; round++)); do
        for layout in "${layouts[@]}"; do
            one "$layout" "$count" >>"$out/$count-$layout"
        done
    done
    base=$(sort -g "$out/$count-${layouts[0]}" | head -1 | cut -d' ' -f1)
    for layout in "${layouts[@]}"; do
        sort -g "$out/$count-$layout" | head -1 | while read -r spent share; do
            awk -v c="$count" -v l="$layout" -v t="$spent" -v b="$base" -v s="$share" \
                'BEGIN { printf "%-8s %-16s %14.1f %10.2f %13s %%\n", c, l, t, t / b, s }'
        done
    done
done
