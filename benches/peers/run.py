#!/usr/bin/env python3
"""The same work side by side: our Gibbs sweep against PyTorch, bare products in MKL and OpenBLAS, rbms, scikit-learn;
our trainer against loops in PyTorch and rbms.

Usage: benches/peers/run.py [--rounds 30] [--threads 1 2] [--only 784x500x2000 ...] [--busy] [--out DIR] [--append FILE]
       benches/peers/run.py --device vulkan [--binary FILE --python FILE] ...

Makes a virtual environment with the peers (about 3 GB from PyPI, once). Every peer is a process that waits until it is told to
work, its threads pinned to the same cores as ours; ours and a peer take turns of some milliseconds, and what counts is
the ratio of two such turns, one beside the other: a busy moment of the machine meets both. Prints medians and quartiles
over the rounds; writes peers.csv, peers.png and growth.png. --busy: beside a process that multiplies matrices all the time.
--append adds the rows to a file that has those of other machines (docs/peers.csv). --device: our engine on that device of Burn
(features of Cargo.toml), beside PyTorch on the same NVIDIA card; --binary and --python: built and installed elsewhere.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "ztrack-peers"
PACKAGES = ["torch", "numpy", "scikit-learn", "matplotlib", "rbms"]
SWEEP, CATEGORICAL, TRAINING = "ztrack sweep", "ztrack categorical sweep", "ztrack training update"
# Real rows are dense: what takes them through both products is the floor of a sweep.
REAL, REAL_PRODUCTS = "ztrack real sweep", "PyTorch bare products of real rows"
SKYLAKE = "NumPy bare products, SkylakeX kernels"
BARE = ["PyTorch bare products", "NumPy bare products", SKYLAKE]
# Products in 16 bits are a limit, not a peer: they are less precise than the others and ours.
LIMIT = "PyTorch bare products, bf16"
# What each is divided by: the work of ours that does the same.
OURS = {
    **{peer: SWEEP for peer in ["PyTorch composed sweep", *BARE, LIMIT, "rbms sweep", "burn-ndarray composed sweep"]},
    REAL_PRODUCTS: REAL,
    "PyTorch categorical sweep": CATEGORICAL,
    "rbms categorical sweep": CATEGORICAL,
    "scikit-learn update": "ztrack update",
    "PyTorch training update": TRAINING,
    "PyTorch training update, medium precision": TRAINING,
    "PyTorch training update, bf16": TRAINING,
    "rbms training update": TRAINING,
}
# On a device a call of ours is some sweeps, after which the states come back as bits.
DEVICE_SWEEPS = 20
OURS_ON_DEVICE = {
    "PyTorch composed sweep": "ztrack device sweeps",
    "PyTorch bare products": "ztrack device sweeps",
    LIMIT: "ztrack device sweeps",
    "burn device products": "ztrack device sweeps",
    "PyTorch training update": "ztrack device training update",
}
DEVICE_SETTINGS = [f"{units}x{chains}" for units in ("784x500", "4000x4000") for chains in (2000, 20000)]
GROWING = ["PyTorch composed sweep", "PyTorch bare products", "NumPy bare products", SKYLAKE]
TRAINED = [peer for peer, work in OURS.items() if work == TRAINING]
VARIABLES = [peer for peer, work in OURS.items() if work == CATEGORICAL]
TEMPERED = [f"ztrack tempered sweep, {update}, K = {k}" for update in ("joint", "collapsed") for k in (10, 100, 1000)]
TEMPERED_SWEEPS = 5
# Visible units, hidden units, chains: the sizes of the papers' models, with all peers but training; growth; 60 variables of 4 states; training.
SETTINGS = (
    {f"{visible}x500x{chains}": [peer for peer in OURS if peer not in TRAINED + VARIABLES] for visible in (180, 784) for chains in (100, 500, 2000)}
    | {setting: GROWING for setting in ["784x100x500", "784x1000x500", "784x2000x500", "784x2000x2000", "784x4000x500", "784x500x8000"]}
    | {"240x500x2000": VARIABLES}
)
TRAINING_SETTINGS = ["784x500x100", "784x500x500"]
# What a processor is told apart by, besides its name and caches.
FEATURES = ["avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "asimddp", "i8mm", "sve2"]
# Milliseconds of one turn, and the pause after one in which idle threads of the peers go to sleep.
TURN = 8.0
PAUSE = 0.002
COLUMNS = ["machine", "threads", "visible", "hidden", "chains", "what", "milliseconds", "ratio", "lower", "upper"]


def python():
    """The virtual environment's interpreter, made and filled if it is not there."""
    path = CACHE / "venv" / "bin" / "python"
    if not path.exists():
        venv.create(CACHE / "venv", with_pip=True)
    if subprocess.run([path, "-c", "import torch, numpy, sklearn, matplotlib, rbms"]).returncode != 0:
        print(f"installing {', '.join(PACKAGES)} into {CACHE / 'venv'}", file=sys.stderr)
        subprocess.run([path, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return str(path)


def build(device):
    """The benchmark binary of our side."""
    # Burn's backend is a peer here, and compiled as one; usually it is not in a loop that counts.
    fast = [f"--config=profile.bench.package.{package}.opt-level=3" for package in ["burn-ndarray", "burn-dispatch"]]
    command = ["cargo", "bench", "--bench", "peers", "--no-run", "--message-format", "json", *(["--features", device] if device else fast)]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return [m["executable"] for m in messages if m.get("target", {}).get("name") == "peers" and m.get("executable")][0]


def machine():
    """Processor and caches, by which rows of several machines are told apart."""
    info = pathlib.Path("/proc/cpuinfo")
    fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line) if info.exists() else {}
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    name = fields.get("model name", "unknown processor")
    name += f" (family {fields.get('cpu family', '?')} model {fields.get('model', '?')}, {fields.get('cpu MHz', '?')} MHz)"
    caches = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        read = lambda file: (index / file).read_text().strip()
        if read("type") != "Instruction":
            caches.append(f"L{read('level')} {read('size')}")
    flags = set(fields.get("flags", fields.get("Features", "")).split())
    return ", ".join([name, *caches, *(feature for feature in FEATURES if feature in flags)])


def card():
    """Name of the GPU."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def can_run(peer):
    """Whether this processor has the instructions that a peer is told to use."""
    info = pathlib.Path("/proc/cpuinfo")
    return peer != SKYLAKE or (info.exists() and " avx512f " in info.read_text())


class Worker:
    """A process that works when it is told to."""

    def __init__(self, command, threads, peer):
        pins = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]
        environment = os.environ | {name: str(threads) for name in pins}
        # Threads of an idle peer sleep soon: they would take the core from whose turn it is.
        environment |= {"GOMP_SPINCOUNT": "20000", "KMP_BLOCKTIME": "1", "OPENBLAS_THREAD_TIMEOUT": "18"}
        if peer == SKYLAKE:
            environment["OPENBLAS_CORETYPE"] = "SkylakeX"
        cores = ",".join(map(str, range(threads)))
        self.process = subprocess.Popen(
            ["taskset", "-c", cores, *command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *fields):
        print(*fields, sep="\t", file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.process.args} ended at {fields}")
        return answer

    def set_up(self, what, setting):
        self.ask("setup", what, setting)
        self.what, self.calls = what, 1
        self.calls = max(1, round(TURN / min(self.turn() for _ in range(3))))

    def turn(self):
        """Milliseconds a sweep or an update."""
        milliseconds = float(self.ask("go", self.calls)) / self.calls
        if self.what in ("ztrack device sweeps", "burn device products"):
            milliseconds /= DEVICE_SWEEPS
        time.sleep(PAUSE)
        return milliseconds

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(ours, peers, setting, rounds, work):
    """Turns of ours and of each peer, one after the other: {what: [milliseconds]} and {peer: [ratio to ours]}; `work`: like OURS."""
    times, ratios = {}, {}
    for peer, worker in peers.items():
        worker.set_up(peer, setting)
    for what in sorted({work[peer] for peer in peers}):
        ours.set_up(what, setting)
        of_this = [peer for peer in peers if work[peer] == what]
        for _ in range(rounds):
            for peer in of_this:
                mine, theirs = ours.turn(), peers[peer].turn()
                times.setdefault(what, []).append(mine)
                times.setdefault(peer, []).append(theirs)
                ratios.setdefault(peer, []).append(theirs / mine)
    return times, ratios


def measure(arguments):
    """Rows of peers.csv."""
    device = arguments.device
    interpreter, binary = arguments.python or python(), arguments.binary or build(device)
    name = f"{card()}, {device}" if device else machine()
    os.environ.update({"ZTRACK_DEVICE": device, "PEER_DEVICE": "cuda"} if device else {})
    ours_of = OURS_ON_DEVICE if device else OURS
    rows = []
    for threads in arguments.threads:
        ours = Worker([binary], threads, None)
        workers = {}
        for peer in ours_of:
            command = [binary] if peer.startswith("burn") else [interpreter, str(HERE / "peer.py")]
            workers[peer] = Worker(command, threads, peer)
        chosen = [(s, [*filter(can_run, peers)]) for s, peers in SETTINGS.items()] + [(s, TRAINED) for s in TRAINING_SETTINGS]
        chosen = [(s, [*ours_of]) for s in DEVICE_SETTINGS] if device else chosen
        for setting, peers in chosen:
            if arguments.only and setting not in arguments.only:
                continue
            print(f"{setting}, {threads} threads: {', '.join(peers)}", file=sys.stderr)
            times, ratios = compare(ours, {peer: workers[peer] for peer in peers}, setting, arguments.rounds, ours_of)
            if setting == "784x500x2000" and not device:
                for what in TEMPERED:
                    ours.set_up(what, setting)
                    times[what] = [ours.turn() / TEMPERED_SWEEPS for _ in range(3)]
            found = []
            for what, milliseconds in sorted(times.items()):
                quartiles = statistics.quantiles(ratios[what], n=4) if what in ratios else ["", "", ""]
                lower, ratio, upper = (f"{q:.4f}" if q else "" for q in quartiles)
                cells = [name, threads, *setting.split("x"), what, f"{statistics.median(milliseconds):.5f}"]
                found.append(dict(zip(COLUMNS, [*cells, ratio, lower, upper])))
            report(found)
            rows += found
        for worker in [ours, *workers.values()]:
            worker.end()
    return rows


def report(rows):
    """Prints the table of a setting."""
    visible, hidden, chains, threads = (rows[0][name] for name in ("visible", "hidden", "chains", "threads"))
    print(f"\n{rows[0]['machine']}\n{visible}x{hidden}, {chains} chains, {threads} thread{'s' if threads > 1 else ''}")
    for row in sorted(rows, key=lambda row: float(row["milliseconds"])):
        ratio = f"{row['ratio']:>8} x ours ({row['lower']} to {row['upper']})" if row["ratio"] else ""
        print(f"  {row['what']:<42} {float(row['milliseconds']):9.3f} ms {ratio}")
    bare = [row for row in rows if row["what"] in BARE]
    if bare:
        fastest = min(bare, key=lambda row: float(row["ratio"]))
        low, middle, high = (1 / float(fastest[name]) for name in ("upper", "ratio", "lower"))
        print(f"  whole sweep / fastest two bare products: {middle:.2f} ({low:.2f} to {high:.2f}), {fastest['what']}", flush=True)


def save(rows, folder, append, plot):
    """peers.csv, and pictures of it through the virtual environment's matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "peers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if append:
        with open(append, "a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)
    if plot:
        subprocess.run([python(), str(HERE / "plot.py"), str(folder)], check=True)
    print(f"\nwrote {'peers.csv, peers.png and growth.png' if plot else 'peers.csv'} to {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", help="settings VISIBLExHIDDENxCHAINS")
    parser.add_argument("--busy", action="store_true", help="beside a process that keeps the caches and one core busy")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "peers")
    parser.add_argument("--append", type=pathlib.Path)
    parser.add_argument("--device", help="wgpu, vulkan or cuda")
    parser.add_argument("--binary")
    parser.add_argument("--python")
    arguments = parser.parse_args()
    neighbour = None
    if arguments.busy:
        work = "import torch\ntorch.set_num_threads(1)\na = torch.randn(1500, 1500)\nwhile True: a @ a"
        neighbour = subprocess.Popen([python(), "-c", work])
    try:
        rows = measure(arguments)
    finally:
        if neighbour:
            neighbour.kill()
    save(rows, arguments.out, arguments.append, plot=not arguments.device)


if __name__ == "__main__":
    main()
