"""peers.png from peers.csv in the folder given: milliseconds a sweep, one panel a size, grouped by chains and threads."""

import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

folder = pathlib.Path(sys.argv[1])
rows = [row for row in csv.DictReader(open(folder / "peers.csv")) if "update" not in row["what"]]
sizes = sorted({(int(row["visible"]), int(row["hidden"])) for row in rows})
threads = sorted({int(row["threads"]) for row in rows})
figure, axes = pyplot.subplots(len(threads), len(sizes), figsize=(6 * len(sizes), 4 * len(threads)), squeeze=False)
for i, thread in enumerate(threads):
    for j, (visible, hidden) in enumerate(sizes):
        axis = axes[i][j]
        curves = {}
        for row in rows:
            if (int(row["threads"]), int(row["visible"]), int(row["hidden"])) == (thread, visible, hidden):
                curves.setdefault(row["what"], []).append((int(row["chains"]), float(row["milliseconds"])))
        for what, points in sorted(curves.items()):
            style = {"linewidth": 3, "color": "black"} if what == "ztrack sweep" else {}
            axis.loglog(*zip(*sorted(points)), marker="o", label=what, **style)
        axis.set(title=f"{visible}x{hidden}, {thread} thread{'s' if thread > 1 else ''}", xlabel="chains", ylabel="ms")
        axis.grid(alpha=0.3)
axes[0][0].legend(fontsize=7)
figure.tight_layout()
figure.savefig(folder / "peers.png", dpi=120)
