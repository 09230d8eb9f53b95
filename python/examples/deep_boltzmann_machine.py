"""log Z of a deep Boltzmann machine of two hidden layers while it trains, beside the exact value: a model of one's own in numpy.

    python python/examples/deep_boltzmann_machine.py [--quick]
"""

import sys

import numpy as np

import ztrack

QUICK = "--quick" in sys.argv
UPDATES, SIDE, MIDDLE, TOP, RATE = (200 if QUICK else 2000), 3, 5, 4, 0.05
VISIBLE = SIDE * SIDE


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


class DeepBoltzmannMachine:
    """Layers v - h - t, weights between neighbours. A state is v and t; both touch only h, which is summed over."""

    def __init__(self, random):
        self.weights = random.normal(0, 0.1, (VISIBLE + TOP, MIDDLE))
        self.outer, self.middle = np.zeros(VISIBLE + TOP), np.zeros(MIDDLE)
        # At inverse temperature 0 all units are fair coins.
        self.log_z_base = (VISIBLE + TOP + MIDDLE) * np.log(2)

    def sample_base(self, n, seed):
        return np.random.default_rng(seed).integers(0, 2, (n, VISIBLE + TOP)).astype(float)

    def log_f(self, states, at):
        inputs = states @ self.weights + self.middle
        return np.logaddexp(0, at[:, None] * inputs[:, None, :]).sum(axis=2) + np.outer(states @ self.outer, at)

    def sweep(self, states, at, seed):
        random, at = np.random.default_rng(seed), at[:, None]
        h = random.random((len(states), MIDDLE)) < sigmoid(at * (states @ self.weights + self.middle))
        return (random.random(states.shape) < sigmoid(at * (h @ self.weights.T + self.outer))).astype(float)

    def exact_log_z(self):
        states = np.arange(2 ** (VISIBLE + TOP))[:, None] >> np.arange(VISIBLE + TOP) & 1
        return np.logaddexp.reduce(self.log_f(states.astype(float), np.ones(1))[:, 0])

    def climb(self, states, shares, rate):
        """Adds ``rate`` times the gradient of the mean of log f over weighted states."""
        h = sigmoid(states @ self.weights + self.middle)
        self.weights += rate * (states * shares[:, None]).T @ h
        self.outer += rate * shares @ states
        self.middle += rate * shares @ h


def bars(rows, random):
    """Pictures of full rows, or of full columns."""
    lines = random.integers(0, 2, (rows, SIDE, 1)) * np.ones((1, 1, SIDE))
    upright = random.integers(0, 2, (rows, 1, 1)) == 1
    return np.where(upright, lines.transpose(0, 2, 1), lines).reshape(rows, VISIBLE)


random = np.random.default_rng(1)
data = bars(200, random)
model = DeepBoltzmannMachine(random)
states = np.hstack([data, random.integers(0, 2, (len(data), TOP))])

tracker = ztrack.Tracker(engine=model, chains=300, seed=1)
tracker.update()  # once before training,
print("update   tracked log Z       exact   errors  trust")
sound = inside = 0
for update in range(1, UPDATES + 1):
    # Upper layers given the data, by a chain for each row; the negative phase from the tracker's own chains.
    states = model.sweep(states, np.ones(len(states)), update)
    states[:, :VISIBLE] = data
    model.climb(states, np.full(len(states), 1 / len(states)), RATE)
    model.climb(*tracker.samples(), -RATE)

    tracker.update()  # and after every update
    if update % (UPDATES // 10) == 0:
        found, exact = tracker.evaluate(), model.exact_log_z()
        errors = (found.value - exact) / found.std_error
        sound += found.trust.sound
        inside += found.trust.sound and abs(errors) < 4
        print(f"{update:6}  {found.value:8.3f} +- {found.std_error:.3f}  {exact:8.3f}  {errors:+7.1f}  {found.trust}")
print(f"{inside} of {sound} sound values are within 4 of their errors")
assert inside >= sound - 1 and sound >= 5
