#!/usr/bin/env python3
"""The same work side by side: our Gibbs sweep against PyTorch, bare products in MKL and OpenBLAS, rbms, scikit-learn.

Usage: benches/peers/run.py [--rounds 3] [--seconds 0.5] [--threads 1 2] [--out DIR]

Makes a virtual environment with the peers (about 3 GB from PyPI, once) and runs every peer in turn, each in a process of
its own with threads pinned to the same cores, round after round, so that a busy moment of the machine meets all alike.
Prints medians over the rounds and ratios; writes peers.csv, peers.png and growth.png (with chains, hidden units and
temperatures).
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ztrack-peers"
PACKAGES = ["torch", "numpy", "scikit-learn", "matplotlib", "rbms"]
SKYLAKE = "NumPy bare products, SkylakeX kernels"
BARE = ["PyTorch bare products", "NumPy bare products", SKYLAKE]
PEERS = ["PyTorch composed sweep", *BARE, "rbms sweep", "scikit-learn update"]
OURS = "ztrack sweep"
# Visible units, hidden units, chains: the sizes of the papers' models, and growth, for which a few rows do.
SETTINGS = [(visible, 500, chains) for visible in (180, 784) for chains in (100, 500, 2000)]
GROWTH = [(784, 100, 500), (784, 1000, 500), (784, 2000, 500), (784, 500, 8000)]
GROWING = ["ztrack", "PyTorch composed sweep", SKYLAKE]


def python():
    """The virtual environment's interpreter, made and filled if it is not there."""
    path = CACHE / "venv" / "bin" / "python"
    if not path.exists():
        venv.create(CACHE / "venv", with_pip=True)
    if subprocess.run([path, "-c", "import torch, numpy, sklearn, matplotlib, rbms"]).returncode != 0:
        print(f"installing {', '.join(PACKAGES)} into {CACHE / 'venv'}", file=sys.stderr)
        subprocess.run([path, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return str(path)


def build():
    """The benchmark binary of our side."""
    command = ["cargo", "bench", "--bench", "peers", "--no-run", "--message-format", "json"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return [m["executable"] for m in messages if m.get("target", {}).get("name") == "peers" and m.get("executable")][0]


def run(command, threads, peer):
    """Lines of one process, its threads pinned to the first cores."""
    cores = ",".join(map(str, range(threads)))
    pins = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = os.environ | {name: str(threads) for name in pins}
    if peer == SKYLAKE:
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
    finished = subprocess.run(
        ["taskset", "-c", cores, *command], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]


def measure(arguments):
    """Medians over the rounds, in milliseconds: {(threads, visible, hidden, chains): {what: ms}}."""
    interpreter, ours = python(), build()
    settings = ["x".join(map(str, setting)) for setting in SETTINGS]
    growth = ["x".join(map(str, setting)) for setting in GROWTH]
    times = {}
    for round_number in range(arguments.rounds):
        for threads in arguments.threads:
            for peer in ["ztrack", *PEERS]:
                print(f"round {round_number + 1} of {arguments.rounds}, {threads} threads: {peer}", file=sys.stderr)
                program = [ours] if peer == "ztrack" else [interpreter, str(HERE / "peer.py"), peer]
                asked = settings + growth if peer in GROWING else settings
                command = [*program, str(arguments.seconds), *asked]
                for row in run(command, threads, peer):
                    key = (threads, row["visible"], row["hidden"], row["chains"])
                    times.setdefault(key, {}).setdefault(row["what"], []).append(row["ms"])
    return {key: {what: statistics.median(ms) for what, ms in rows.items()} for key, rows in times.items()}


def report(medians):
    """Prints a table for each setting; the ratio says how many of our sweeps (updates) one of the peer's costs."""
    for (threads, visible, hidden, chains), rows in sorted(medians.items()):
        print(f"\n{visible}x{hidden}, {chains} chains, {threads} thread{'s' if threads > 1 else ''}")
        for what, ms in sorted(rows.items(), key=lambda row: row[1]):
            ours = rows["ztrack update" if "update" in what else OURS]
            print(f"  {what:<40} {ms:9.3f} ms   {ms / ours:6.2f} x ours")
        fastest = min(rows[what] for what in BARE if what in rows)
        print(f"  our whole sweep is {rows[OURS] / fastest:.2f} x the two bare products of the fastest BLAS")
    settings = {key[1:] for key in medians}
    for setting in sorted(settings):
        if (1, *setting) in medians and (2, *setting) in medians:
            ratio = medians[(1, *setting)][OURS] / medians[(2, *setting)][OURS]
            print(f"{setting[0]}x{setting[1]}, {setting[2]} chains: two threads are {ratio:.2f} x one")


def save(medians, folder):
    """peers.csv, and pictures of it through the virtual environment's matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "peers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["threads", "visible", "hidden", "chains", "what", "milliseconds"])
        for key, rows in sorted(medians.items()):
            writer.writerows([*key, what, f"{ms:.5f}"] for what, ms in sorted(rows.items()))
    subprocess.run([python(), str(HERE / "plot.py"), str(folder)], check=True)
    print(f"\nwrote peers.csv, peers.png and growth.png to {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="time spent on each row in a round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "peers")
    arguments = parser.parse_args()
    medians = measure(arguments)
    report(medians)
    save(medians, arguments.out)


if __name__ == "__main__":
    main()
