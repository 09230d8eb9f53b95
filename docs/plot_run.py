#!/usr/bin/env python3
"""Two curves of a run as a picture: log-likelihoods with their bands, and tracked minus exact log Z.

    python3 docs/plot_run.py runs/bars-and-stripes/metrics.csv docs/live_log_z.png     (needs matplotlib)
"""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rows = [row for row in csv.DictReader(open(sys.argv[1])) if int(row["update"]) > 0]


def column(name):
    return [float(row[name]) if row[name] else float("nan") for row in rows]


update = column("update")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), constrained_layout=True)
for name, colour in (("train", "tab:blue"), ("validation", "tab:orange")):
    value, error = column(f"{name}_log_likelihood"), column(f"{name}_log_likelihood_std_error")
    left.plot(update, value, color=colour, label=name)
    left.fill_between(
        update,
        [v - 2 * e for v, e in zip(value, error)],
        [v + 2 * e for v, e in zip(value, error)],
        color=colour,
        alpha=0.25,
        linewidth=0,
    )
left.set(xlabel="update", ylabel="log-likelihood, nats a row", title="live log-likelihood")
left.set_ylim(bottom=min(column("validation_log_likelihood")[2:]))
left.legend()
log_z, error, exact = column("log_z"), column("log_z_std_error"), column("exact_log_z")
difference = [z - x for z, x in zip(log_z, exact)]
right.axhline(0, color="black", linewidth=0.8)
right.plot(update, difference, color="tab:green")
right.fill_between(
    update,
    [d - 2 * e for d, e in zip(difference, error)],
    [d + 2 * e for d, e in zip(difference, error)],
    color="tab:green",
    alpha=0.25,
    linewidth=0,
)
right.set(xlabel="update", ylabel="nats", title="tracked minus exact log Z, band of 2 errors")
figure.savefig(sys.argv[2], dpi=110)
