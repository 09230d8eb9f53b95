"""What `tracker.update` adds to a PCD loop in PyTorch, 784 x 500 with 500 chains, as whole runs with and without.

    RAYON_NUM_THREADS=2 python python/benches/torch_tracking.py FOLDER_OF_MNIST [--updates 200] [--chains 500] [--averaging 0.1]

FOLDER_OF_MNIST holds train-images-idx3-ubyte.gz. Needs torch. Three runs (no tracker, one called after every update, one after every
tenth) go on side by side, ten updates of each in turn, so that whatever else the machine does meets all of them alike. What is added
is the median over rounds of a round's time over that of the run without; prints one line per run, and CSV at the end. Processor time
tells the same on a machine that is busy, with OMP_WAIT_POLICY=passive, without which PyTorch's idle threads spend it as well.
"""

import argparse
import gzip
import statistics
import time
from pathlib import Path

import numpy as np
import torch

import ztrack
from ztrack._arrays import parameters

parser = argparse.ArgumentParser()
parser.add_argument("mnist", type=Path)
parser.add_argument("--updates", type=int, default=200)
parser.add_argument("--chains", type=int, default=500)
parser.add_argument("--averaging", type=float, default=0.1)
parser.add_argument("--batch", type=int, default=500)
arguments = parser.parse_args()

with gzip.open(arguments.mnist / "train-images-idx3-ubyte.gz") as file:
    pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
binary = (pixels > 127).astype(np.uint8)
data = torch.tensor(binary, dtype=torch.float32)


ROUND = 10


class Run:
    """A training that stops after every round of updates; `every` 0: without a tracker."""

    def __init__(self, every):
        self.every, self.update, self.seconds, self.processor = every, 0, [], []
        self.generator = torch.Generator().manual_seed(1)
        self.W = 0.01 * torch.randn(784, 500, generator=self.generator)
        share = data.mean(0).clamp(0.001, 0.999)
        self.c, self.b = torch.log(share / (1 - share)), torch.zeros(500)
        self.particles = torch.bernoulli(share.expand(arguments.batch, 784), generator=self.generator)
        self.tracker, begin = None, time.perf_counter()
        if every:
            options = {"chains": arguments.chains, "averaging": arguments.averaging}
            self.tracker = ztrack.Tracker(data=binary[:2000], n_hidden=500, seed=1, **options)
            self.tracker.update(self.W, self.c, self.b)
        self.start = time.perf_counter() - begin

    def round(self):
        begin, busy = time.perf_counter(), time.process_time()
        for _ in range(ROUND):
            self.step()
            self.update += 1
            if self.every and self.update % self.every == 0:
                self.tracker.update(self.W, self.c, self.b)
        self.seconds.append(time.perf_counter() - begin)
        self.processor.append(time.process_time() - busy)

    def step(self):
        W, c, b, generator = self.W, self.c, self.b, self.generator
        v = data[torch.randint(0, len(data), (arguments.batch,), generator=generator)]
        h = torch.sigmoid(v @ W + b)
        hidden = torch.bernoulli(torch.sigmoid(self.particles @ W + b), generator=generator)
        self.particles = torch.bernoulli(torch.sigmoid(hidden @ W.T + c), generator=generator)
        model = torch.sigmoid(self.particles @ W + b)
        W += 0.01 * (v.T @ h - self.particles.T @ model) / arguments.batch
        c += 0.01 * (v - self.particles).mean(0)
        b += 0.01 * (h - model).mean(0)

    def value(self):
        """Seconds until log Z is read, and what it is."""
        if self.tracker is None:
            return 0.0, ""
        begin = time.perf_counter()
        value = f"log Z {self.tracker.log_z:.2f} +- {self.tracker.std_error:.2f}"
        return time.perf_counter() - begin, f"{value}, {self.tracker.trust}"


runs = [Run(every) for every in (0, 1, 10)]
for turn in range(max(1, arguments.updates // ROUND)):
    # Each run is first, second and last alike.
    for i in range(len(runs)):
        runs[(i + turn) % len(runs)].round()
rows = []
for run in runs:
    step = statistics.median(run.seconds) / ROUND
    ratios = [mine / plain for mine, plain in zip(run.seconds, runs[0].seconds)]
    added = 100 * (statistics.median(ratios) - 1)
    busy = 100 * (statistics.median(run.processor) / statistics.median(runs[0].processor) - 1)
    what = {0: "no tracker", 1: "every update"}.get(run.every, f"every {run.every}th update")
    read, value = run.value()
    print(
        f"{what:18} {1e3 * step:8.2f} ms an update, {added:+6.1f} % ({busy:+6.1f} % of processor time);"
        f" start {run.start:.2f} s, one value {read:.2f} s  {value}"
    )
    rows.append((run.every, 1e3 * step, added, busy, run.start, read))

# The border alone: tensors to bytes, as `update` makes them, and bytes to the library's arrays are one copy each.
W, c, b = torch.randn(784, 500), torch.randn(784), torch.randn(500)
times = []
for _ in range(50):
    begin = time.perf_counter()
    for part in parameters(W, c, b):
        part.tobytes()
    times.append(time.perf_counter() - begin)
print(f"copies at the border (Python's side): {1e3 * statistics.median(times):.2f} ms")
print("\nevery,ms_an_update,added_percent,added_processor_percent,start_seconds,value_seconds")
for row in rows:
    print(",".join(f"{x:.4g}" for x in row))
