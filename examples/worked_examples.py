"""Tables of the worked examples in docs/choose-a-size.md, docs/score-rows.md and docs/fill-in-cells.md, and what comes out of them.

    python3 examples/worked_examples.py digits             # digits.csv, new.csv, new-holes.csv; needs scikit-learn
    python3 examples/worked_examples.py dna datasets/dna   # dna-test.csv, dna-reversed.csv, dna-holes.csv
    python3 examples/worked_examples.py higher A B         # rows of A that score higher than those of B, by their files of --per-row
    python3 examples/worked_examples.py filled WHOLE HOLES FILLED [COLUMNS]   # missing values that were filled in as they were

COLUMNS is the number of columns of a variable, which are missing together (default 1; 3 for a letter of dna).
"""

import csv
import random
import sys


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    print(f"{path}: {len(rows)} rows of {len(rows[0])} columns")


def variables(row, columns):
    return [row[i : i + columns] for i in range(0, len(row), columns)]


def with_holes(rows, share, columns=1):
    """Rows in which this share of the variables is missing, drawn by a fixed seed."""
    draw = random.Random(0)
    hole = lambda cells: ["?"] * columns if draw.random() < share else cells  # noqa: E731
    return [sum(map(hole, variables(row, columns)), []) for row in rows]


def digits():
    from sklearn.datasets import load_digits

    rows = (load_digits().data > 7).astype(int).astype(str).tolist()
    write("digits.csv", rows[:1500])
    write("new.csv", rows[1500:])
    write("new-holes.csv", with_holes(rows[1500:], 0.3))


def dna(folder):
    rows = []
    with open(f"{folder}/dna.scale.t") as file:
        for line in file:
            on = {int(pair.split(":")[0]) for pair in line.split()[1:]}
            rows.append([str(int(column in on)) for column in range(1, 181)])
    write("dna-test.csv", rows)
    write("dna-reversed.csv", [sum(reversed(variables(row, 3)), []) for row in rows])
    write("dna-holes.csv", with_holes(rows, 0.1, 3))


def higher(first, second):
    scores = lambda path: [float(row["log_likelihood"]) for row in csv.DictReader(open(path))]  # noqa: E731
    pairs = list(zip(scores(first), scores(second)))
    more = sum(a > b for a, b in pairs)
    print(f"{more} of {len(pairs)} rows score higher in {first}, {100 * more / len(pairs):.1f} %")


def filled(whole, holes, found, columns=1):
    rows = [[variables(row, int(columns)) for row in read(path)] for path in (whole, holes, found)]
    usual = [max(values, key=values.count) for values in zip(*rows[0])]
    missing = [
        (most, true, guess)
        for row in zip(*rows)
        for most, true, hole, guess in zip(usual, *row)
        if "?" in hole
    ]
    right = sum(true == guess for _, true, guess in missing)
    commonest = sum(true == usual for usual, true, _ in missing)
    share = lambda n: f"{100 * n / len(missing):.1f} %"  # noqa: E731
    print(f"{len(missing)} missing values: {share(right)} right; the commonest value of each column is right in {share(commonest)}")


if __name__ == "__main__":
    commands = {"digits": digits, "dna": dna, "higher": higher, "filled": filled}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
