"""log Z of an energy given by a small neural network, with a locally informed sampler, while it trains, beside the exact value.

    python python/examples/network_energy.py [--quick]

No layer of this model can be drawn given another: a step proposes to flip the bit that would raise the energy function most (Zanella 2020).
"""

import sys

import numpy as np

import ztrack

QUICK = "--quick" in sys.argv
UPDATES, UNITS, NEURONS, RATE, FLIPS = (200 if QUICK else 1000), 10, 8, 0.1, 10


class NetworkEnergy:
    """log f(s) = sum_j a_j tanh(w_j . s + b_j) over states s of bits."""

    log_z_base = UNITS * np.log(2)

    def __init__(self, random):
        self.w, self.b, self.a = random.normal(0, 0.3, (UNITS, NEURONS)), np.zeros(NEURONS), random.normal(0, 0.3, NEURONS)

    def value(self, states):
        return np.tanh(states @ self.w + self.b) @ self.a

    def sample_base(self, n, seed):
        return np.random.default_rng(seed).integers(0, 2, (n, UNITS)).astype(float)

    def log_f(self, states, at):
        return np.outer(self.value(states), at)

    def pull(self, states, at):
        """exp of half the change of log f by each flip, [S, UNITS]."""
        inputs = states @ self.w + self.b
        flipped = inputs[:, None, :] + (1 - 2 * states)[:, :, None] * self.w
        change = np.tanh(flipped) @ self.a - (np.tanh(inputs) @ self.a)[:, None]
        return np.exp(0.5 * at[:, None] * change)

    def sweep(self, states, at, seed):
        """Flips in proportion to the pulls, accepted with the ratio of their sums before and after."""
        random, every = np.random.default_rng(seed), np.arange(len(states))
        pull = self.pull(states, at)
        for _ in range(FLIPS):
            shares = pull.cumsum(axis=1)
            unit = (random.random((len(states), 1)) * shares[:, -1:] < shares).argmax(axis=1)
            flipped = states.copy()
            flipped[every, unit] = 1 - flipped[every, unit]
            there = self.pull(flipped, at)
            accepted = (random.random(len(states)) < pull.sum(axis=1) / there.sum(axis=1))[:, None]
            states, pull = np.where(accepted, flipped, states), np.where(accepted, there, pull)
        return states

    def exact_log_z(self):
        states = np.arange(2**UNITS)[:, None] >> np.arange(UNITS) & 1
        return np.logaddexp.reduce(self.value(states.astype(float)))

    def climb(self, states, shares, rate):
        """Adds ``rate`` times the gradient of the mean of log f over weighted states."""
        x = np.tanh(states @ self.w + self.b)
        slope = self.a * (1 - x**2) * shares[:, None]
        self.w, self.b, self.a = self.w + rate * states.T @ slope, self.b + rate * slope.sum(axis=0), self.a + rate * shares @ x


random = np.random.default_rng(2)
# Rows of two halves, in each of which all bits are equal.
data = np.repeat(random.integers(0, 2, (100, 2)), UNITS // 2, axis=1).astype(float)
model = NetworkEnergy(random)

tracker = ztrack.Tracker(engine=model, chains=200, seed=1)
tracker.update()  # once before training,
print("update   tracked log Z       exact   errors  log-likelihood of the data  trust")
sound = inside = 0
for update in range(1, UPDATES + 1):
    # The tracker's chains are the samples of the negative phase.
    states, shares = tracker.samples()
    model.climb(data, np.full(len(data), 1 / len(data)), RATE)
    model.climb(states, shares, -RATE)

    tracker.update()  # and after every update
    if update % (UPDATES // 10) == 0:
        found, exact = tracker.evaluate({"train": data}), model.exact_log_z()
        errors = (found.value - exact) / found.std_error
        sound += found.trust.sound
        inside += found.trust.sound and abs(errors) < 4
        train = found.log_likelihoods["train"]
        print(
            f"{update:6}  {found.value:8.3f} +- {found.std_error:.3f}  {exact:8.3f}  {errors:+7.1f}"
            f"  {train.value:10.3f} +- {train.std_error:.3f}           {found.trust}"
        )
print(f"{inside} of {sound} sound values are within 4 of their errors")
assert inside >= sound - 1 and sound >= 5
