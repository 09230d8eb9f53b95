"""Evaluations as records, the history, figures, tables of notebooks."""

import dataclasses
import json
import pickle

import numpy as np
import pytest

import ztrack


@pytest.fixture
def tracked(data, model):
    tracker = ztrack.Tracker(data, 8, 100, seed=1)
    W, c, b = model
    for scale in (0.5, 0.51, 0.52):
        tracker.update(scale * W, c, b)
        tracker.evaluate({"train": data, "validation": data[:50]})
    return tracker


def test_a_record_is_complete_and_frozen(tracked, data):
    found = tracked.evaluate()
    assert (found.value, found.std_error, found.trust) == (tracked.log_z, tracked.std_error, tracked.trust)
    assert found.update == tracked.updates == 2 and float(found) == found.value
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 0.0
    assert found.diagnostics["effective_chains"] > 10 and found.diagnostics["settling_sweeps"] >= 60
    assert found.diagnostics["log_z_bound"] <= found.value
    # Between two updates there is one evaluation, and it keeps the rows that were named before.
    assert len(tracked.evaluations) == 3 and set(found.log_likelihoods) == {"train", "validation"}
    expected = tracked.model.log_likelihood(data, log_z=(found.value, found.std_error))
    assert found.log_likelihoods["train"].value == pytest.approx(expected.value)
    json.dumps(found.record())


def test_the_history_is_a_table_and_survives_a_state(tracked):
    table = tracked.history
    assert list(table["update"]) == [0, 1, 2] and table["log_z_std_error"].gt(0).all() and table["sound"].isin([0, 1]).all()
    assert {"train_log_likelihood", "validation_log_likelihood", "settling_correlation"} <= set(table.columns)
    again = pickle.loads(pickle.dumps(tracked))
    assert again.evaluations == tracked.evaluations
    assert again.evaluate() == tracked.evaluate()


def test_the_figure_has_both_curves(tracked):
    pytest.importorskip("matplotlib").use("agg")
    above, below = tracked.plot().axes
    assert [len(line.get_xdata()) for line in above.lines] == [3, 3]
    (line,) = below.lines
    assert list(line.get_ydata()) == [found.value for found in tracked.evaluations]


def test_tables_of_notebooks(tracked, model):
    found = ztrack.log_partition(*model)
    told = ztrack.Trust(("drift",), "log Z <drifts>")
    shown = {"RBM": ztrack.Model(*model), "log Z by exact": found, "Tracker": tracked, "update 2": tracked.evaluate(), "in doubt": told}
    for title, value in shown.items():
        html = value._repr_html_()
        assert html.startswith(f"<table><caption>{title}<") and html.endswith("</table>")
    assert "log Z &lt;drifts&gt;" in told._repr_html_() and f"{found.value:.4f}" in found._repr_html_()
    one, same = ztrack.Model(*model), ztrack.Model(*model)
    assert one == same and one != ztrack.Model(2 * model[0], *model[1:]) and repr(one) == "Model(16 visible, 8 hidden units)"


def test_progress_ends_an_evaluation_and_samples():
    random = np.random.default_rng(1)
    W, c, b = random.normal(0, 0.3, (300, 300)), np.zeros(300), np.zeros(300)
    with pytest.raises(ztrack.Interrupted):
        ztrack.sample(W, c, b, 10, burn_in=10**7, progress=lambda line: False)
    tracker = ztrack.Tracker(random.integers(0, 2, (50, 300)), 300, 20, temperatures=5, settling=(10**7, 10**7))
    tracker.update(W, c, b)
    with pytest.raises(ztrack.Interrupted):
        tracker.evaluate(progress=lambda line: False)
    assert tracker.evaluations == ()


def test_rows_far_from_the_value_show_in_the_table(model):
    table = ztrack.log_partition(*model, method=["exact", "tap-third", "rts"], sweeps=200).table()
    assert table.loc["exact", "in_errors"] == 0 and abs(table.loc["rts", "in_errors"]) < 5
    value, error = table.loc["rts", ["value", "std_error"]]
    assert table.loc["rts", "in_errors"] == pytest.approx((value - table.loc["exact", "value"]) / error)


def test_a_value_that_is_no_number_is_never_sound():
    found = ztrack.log_partition(np.full((12, 8), 3e38), np.zeros(12), np.zeros(8), method="ais", sweeps=20, chains=10)
    # The value is raised to a lower bound; there is no error bar.
    assert np.isnan(found.std_error) and found.trust.doubts == ("not-finite",)


def test_arviz(tracked):
    xarray = pytest.importorskip("xarray")
    tree = tracked.to_arviz(draws=200, chains=3, seed=5)
    assert isinstance(tree, xarray.DataTree)
    posterior = tree["posterior"].to_dataset()
    assert dict(posterior.sizes) == {"chain": 3, "draw": 200, "unit": 16}
    # Between and within chains: R-hat of samples that are independent is 1 within 1/sqrt(200).
    energy = posterior["free_energy"]
    within, between = energy.var("draw").mean(), energy.mean("draw").var("chain", ddof=1)
    assert float(np.sqrt(1 + between / within)) < 1.05
    history = tree["log_z_history"].to_dataset()
    assert list(history["log_z"].values) == [found.value for found in tracked.evaluations]
    assert ztrack.Model(*tracked.model._all()).to_arviz(10, 2)["posterior"]["visible"].shape == (2, 10, 16)
