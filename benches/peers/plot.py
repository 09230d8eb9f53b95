"""peers.png and growth.png from peers.csv in the folder given: milliseconds a sweep.

peers.png: one panel a size and number of threads, against chains. growth.png: one panel for each of chains, hidden units and
temperatures, in one thread.
"""

import csv
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

TEMPERED = re.compile(r"(ztrack tempered sweep, \w+), K = (\d+)")
folder = pathlib.Path(sys.argv[1])
rows = [row for row in csv.DictReader(open(folder / "peers.csv")) if "update" not in row["what"]]
plain = [row for row in rows if not TEMPERED.match(row["what"])]


def panel(axis, points, title, label):
    """Curves of (what, x, milliseconds) points."""
    curves = {}
    for what, x, milliseconds in points:
        curves.setdefault(what, []).append((int(x), float(milliseconds)))
    for what, curve in sorted(curves.items()):
        style = {"linewidth": 3, "color": "black"} if what == "ztrack sweep" else {}
        axis.loglog(*zip(*sorted(curve)), marker="o", label=what, **style)
    axis.set(title=title, xlabel=label, ylabel="ms")
    axis.grid(alpha=0.3)


def of(**fixed):
    """Plain sweeps with the given settings."""
    return [row for row in plain if all(int(row[name]) == value for name, value in fixed.items())]


def peers():
    sizes = [(180, 500), (784, 500)]
    threads = sorted({int(row["threads"]) for row in rows})
    figure, axes = pyplot.subplots(len(threads), len(sizes), figsize=(12, 4 * len(threads)), squeeze=False)
    for i, thread in enumerate(threads):
        for j, (visible, hidden) in enumerate(sizes):
            found = of(threads=thread, visible=visible, hidden=hidden)
            points = [(row["what"], row["chains"], row["milliseconds"]) for row in found]
            panel(axes[i][j], points, f"{visible}x{hidden}, {thread} thread{'s' if thread > 1 else ''}", "chains")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder / "peers.png", dpi=120)


def growth():
    thread = min(int(row["threads"]) for row in rows)
    figure, axes = pyplot.subplots(1, 3, figsize=(18, 5))
    found = of(threads=thread, visible=784, hidden=500)
    panel(axes[0], [(r["what"], r["chains"], r["milliseconds"]) for r in found], "784x500", "chains")
    found = of(threads=thread, visible=784, chains=500)
    panel(axes[1], [(r["what"], r["hidden"], r["milliseconds"]) for r in found], "784 visible units, 500 chains", "hidden units")
    tempered = [(TEMPERED.match(r["what"]), r) for r in rows if int(r["threads"]) == thread]
    points = [(match[1], match[2], r["milliseconds"]) for match, r in tempered if match]
    panel(axes[2], points, "784x500, 2000 chains", "temperatures")
    axes[0].legend(fontsize=7)
    axes[2].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder / "growth.png", dpi=120)


peers()
growth()
