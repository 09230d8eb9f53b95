"""The tracker in loops of others: optimizers, Lightning, early stopping."""

import sys
import types

import numpy as np
import pytest

import ztrack


class Optimizer:
    """What `watch` needs of a torch.optim.Optimizer: it calls its hooks after a step."""

    def __init__(self, *parameters):
        self.parameters, self.hooks = parameters, {}

    def register_step_post_hook(self, hook):
        self.hooks[len(self.hooks)] = hook
        return types.SimpleNamespace(remove=self.hooks.clear)

    def step(self):
        for parameter in self.parameters:
            parameter *= 1.01
        for hook in list(self.hooks.values()):
            hook(self, (), {})


def test_an_optimizer_is_watched(data, model):
    parameters = [np.array(x) for x in model]
    optimizer = Optimizer(*parameters)
    watched = ztrack.watch(optimizer, *parameters, every=3, data=data, chains=50, averaging=0, seed=1)
    by_hand = ztrack.Tracker(data, 8, 50, averaging=0, seed=1)
    by_hand.update(*model)
    for step in range(1, 11):
        optimizer.step()
        if step % 3 == 0:
            by_hand.update(*parameters)
    assert (watched.steps, watched.tracker.updates) == (10, 3)
    assert watched.evaluate({"train": data}).value == by_hand.log_z
    assert set(watched.tracker.evaluations[0].log_likelihoods) == {"train"}
    watched.remove()
    optimizer.step()
    assert watched.steps == 10
    for arguments, text in [
        ((object(), *parameters), "register_step_post_hook"),
        ((optimizer, *parameters, 0), "`every`"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            ztrack.watch(*arguments, data=data)
    with pytest.raises(ztrack.InvalidError, match="`tracker` is given"):
        ztrack.watch(optimizer, *parameters, data=data, tracker=by_hand)


def test_an_optimizer_of_torch_is_watched(data, exact):
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    X = torch.tensor(data).float()
    W, c, b = (torch.nn.Parameter(x) for x in (0.01 * torch.randn(16, 8), torch.zeros(16), torch.zeros(8)))
    optimizer = torch.optim.Adam([W, c, b], lr=0.02)
    watched = ztrack.watch(optimizer, W, c, b, every=5, data=X, chains=200, seed=1)
    free_energy = lambda v: -(v @ c) - torch.nn.functional.softplus(v @ W + b).sum(1)  # noqa: E731
    for _ in range(100):
        v = X[torch.randint(0, 400, (50,))]
        with torch.no_grad():
            h = torch.bernoulli(torch.sigmoid(v @ W + b))
            particles = torch.bernoulli(torch.sigmoid(h @ W.T + c))
        optimizer.zero_grad()
        (free_energy(v).mean() - free_energy(particles).mean()).backward()
        optimizer.step()
    found = watched.evaluate()
    assert watched.tracker.updates == 20
    assert abs(found.value - exact(*watched.tracker.model._all())) < 4 * found.std_error or not found.trust


def test_lightning_calls_back(data, model, monkeypatch):
    fake = types.ModuleType("lightning.pytorch")
    fake.Callback = object
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", fake)
    W, c, b = model
    module = types.SimpleNamespace(W=W, c=c, b=b, log_dict=lambda numbers: logged.append(numbers))
    logged = []
    trainer = types.SimpleNamespace(current_epoch=0)
    tracker = ztrack.Tracker(data, 8, 50)
    callback = ztrack.lightning_callback(tracker, lambda m: (m.W, m.c, m.b), every=2, data={"train": data})
    callback.on_train_start(trainer, module)
    for batch in range(7):
        module.W = module.W * 1.01
        callback.on_train_batch_end(trainer, module, None, None, batch)
    callback.on_train_epoch_end(trainer, module)
    assert tracker.updates == 3 and logged[0]["ztrack/log_z"] == tracker.log_z
    assert "ztrack/train_log_likelihood" in logged[0]
    other = ztrack.lightning_callback(ztrack.Tracker(data, 8, 50), lambda m: (m.W, m.c, m.b))
    other.load_state_dict(callback.state_dict())
    assert other.tracker.log_z == tracker.log_z and other.batches == 7


def test_lightning_trains(data, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    torch = pytest.importorskip("torch")

    class RBM(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.W = torch.nn.Parameter(0.01 * torch.randn(16, 8))
            self.c, self.b = torch.nn.Parameter(torch.zeros(16)), torch.nn.Parameter(torch.zeros(8))

        def training_step(self, batch, _):
            (v,) = batch
            energy = lambda v: -(v @ self.c) - torch.nn.functional.softplus(v @ self.W + self.b).sum(1)  # noqa: E731
            with torch.no_grad():
                h = torch.bernoulli(torch.sigmoid(v @ self.W + self.b))
                k = torch.bernoulli(torch.sigmoid(h @ self.W.T + self.c))
            return energy(v).mean() - energy(k).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    tracker = ztrack.Tracker(data, 8, 50)
    callback = ztrack.lightning_callback(tracker, lambda m: (m.W, m.c, m.b), every=2)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", callbacks=[callback], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )
    rows = torch.utils.data.TensorDataset(torch.tensor(data).float())
    trainer.fit(RBM(), torch.utils.data.DataLoader(rows, batch_size=50))
    assert tracker.updates == 8 and len(tracker.evaluations) == 2
    assert trainer.callback_metrics["ztrack/log_z"].item() == pytest.approx(tracker.log_z, abs=1e-4)


def evaluation(update, value, sound=True):
    trust = ztrack.Trust() if sound else ztrack.Trust(("drift",), "drifts")
    likelihood = ztrack.LogLikelihood(value, 0.1, 0.1, 0.01)
    return ztrack.Evaluation(update, 10.0, 0.01, trust, {}, {"validation": likelihood})


def test_early_stopping_of_a_loop():
    stopping = ztrack.EarlyStopping(patience=3, patience_factor=1.0)
    values = [-10, -9, -8, -8, -8, -8, -8, -8, -8, -8]
    stops = [stopping.stops(evaluation(100 * i, value)) for i, value in enumerate(values, 1)]
    # The level is the mean of three: it rises until the fifth evaluation.
    assert stops.index(True) == 7
    doubtful = ztrack.EarlyStopping(patience=1, patience_factor=1.0)
    assert not any(doubtful.stops(evaluation(i, -9.0, sound=False)) for i in range(1, 20))
    assert stopping.improved is False
    with pytest.raises(ztrack.InvalidError, match="no log-likelihood of 'train'"):
        stopping.stops(evaluation(1, 1.0), "train")
    with pytest.raises(ztrack.InvalidError, match="`patience_factor`"):
        ztrack.EarlyStopping(patience_factor=0.5)


def test_early_stopping_ends_a_training(data):
    pytest.importorskip("sklearn")
    rows, valid = data[:300], data[300:]
    model = ztrack.RBM(n_hidden=4, learning_rate=0.2, chains=100, random_state=1)
    tracker = None
    stopping = ztrack.EarlyStopping(patience=4, patience_factor=1.5)
    random = np.random.default_rng(1)
    for update in range(3000):
        model.partial_fit(rows[random.integers(0, 300, 50)])
        tracker = model._tracker
        if update % 25 == 24 and stopping.stops(tracker.evaluate({"validation": valid})):
            break
    assert 100 < update < 2999
    assert -7.5 < model.score(valid) < -5
