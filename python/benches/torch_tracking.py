"""What `tracker.update` adds to a PCD loop in PyTorch, 784 x 500 with 500 chains, as whole runs with and without.

    RAYON_NUM_THREADS=2 python python/benches/torch_tracking.py FOLDER_OF_MNIST [--updates 200] [--chains 500]

FOLDER_OF_MNIST holds train-images-idx3-ubyte.gz. Needs torch. Prints one line per way, and CSV at the end. To be run on a quiet
machine: whole runs, each in this process, in alternation, the medians of three.
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
parser.add_argument("--batch", type=int, default=500)
parser.add_argument("--repeats", type=int, default=3)
arguments = parser.parse_args()

with gzip.open(arguments.mnist / "train-images-idx3-ubyte.gz") as file:
    pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
binary = (pixels > 127).astype(np.uint8)
data = torch.tensor(binary, dtype=torch.float32)


def train(every):
    """Seconds of the loop and of the tracker's start; `every` 0: without a tracker."""
    generator = torch.Generator().manual_seed(1)
    W = 0.01 * torch.randn(784, 500, generator=generator)
    share = data.mean(0).clamp(0.001, 0.999)
    c, b = torch.log(share / (1 - share)), torch.zeros(500)
    particles = torch.bernoulli(share.expand(arguments.batch, 784), generator=generator)
    tracker, start = None, time.perf_counter()
    if every:
        tracker = ztrack.Tracker(data=binary[:2000], n_hidden=500, chains=arguments.chains, seed=1)
        tracker.update(W, c, b)
    started = time.perf_counter()
    for update in range(1, arguments.updates + 1):
        v = data[torch.randint(0, len(data), (arguments.batch,), generator=generator)]
        h = torch.sigmoid(v @ W + b)
        hidden = torch.bernoulli(torch.sigmoid(particles @ W + b), generator=generator)
        particles = torch.bernoulli(torch.sigmoid(hidden @ W.T + c), generator=generator)
        model = torch.sigmoid(particles @ W + b)
        W += 0.01 * (v.T @ h - particles.T @ model) / arguments.batch
        c += 0.01 * (v - particles).mean(0)
        b += 0.01 * (h - model).mean(0)
        if every and update % every == 0:
            tracker.update(W, c, b)
    seconds = time.perf_counter() - started
    read = time.perf_counter()
    value = (tracker.log_z, tracker.std_error, str(tracker.trust)) if tracker else None
    return seconds, started - start, time.perf_counter() - read, value


found = {every: [] for every in (0, 1, 10)}
for _ in range(arguments.repeats):
    for every in found:
        found[every].append(train(every))
plain = statistics.median(seconds for seconds, *_ in found[0]) / arguments.updates
rows = []
for every, runs in found.items():
    step = statistics.median(seconds for seconds, *_ in runs) / arguments.updates
    start, read = (statistics.median(run[i] for run in runs) for i in (1, 2))
    added = 100 * (step / plain - 1)
    what = {0: "no tracker", 1: "every update"}.get(every, f"every {every}th update")
    print(f"{what:18} {1e3 * step:8.2f} ms an update, {added:+6.1f} %; start {start:.2f} s, one value {read:.2f} s", runs[-1][3] or "")
    rows.append((every, 1e3 * step, added, start, read))

# The border alone: tensors to bytes, as `update` makes them, and bytes to the library's arrays are one copy each.
W, c, b = torch.randn(784, 500), torch.randn(784), torch.randn(500)
times = []
for _ in range(50):
    begin = time.perf_counter()
    for part in parameters(W, c, b):
        part.tobytes()
    times.append(time.perf_counter() - begin)
print(f"copies at the border (Python's side): {1e3 * statistics.median(times):.2f} ms")
print("\nevery,ms_an_update,added_percent,start_seconds,value_seconds")
for row in rows:
    print(",".join(f"{x:.4g}" for x in row))
