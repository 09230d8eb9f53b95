"""log Z beside a training with the package rbms, written into its archive; what rbms says by itself, and the exact value.

    python python/examples/rbms_callback.py [--quick]
"""

import sys
import tempfile
from pathlib import Path

import ztrack

try:
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.io import load_params, save_model
    from rbms.partition_function.ais import compute_partition_function_ais
    from rbms.training.pcd import fit_batch_pcd
except ImportError as error:
    print(f"skipped: this example needs rbms and torch (pip install rbms): {error}")
    sys.exit(0)

UPDATES = 200 if "--quick" in sys.argv else 2000
torch.manual_seed(1)
prototypes = torch.randint(0, 2, (3, 20))
data = prototypes[torch.randint(0, 3, (1000,))]
data = torch.where(torch.rand(data.shape) < 0.05, 1 - data, data).float()

share = data.mean(0).clamp(0.01, 0.99)
params = BBRBM(0.01 * torch.randn(20, 16), torch.log(share / (1 - share)), torch.zeros(16))
for parameter in params.parameters():
    parameter.grad = torch.zeros_like(parameter)
chains = params.init_chains(num_samples=100)
optimizer = torch.optim.SGD(params.parameters(), lr=0.05, maximize=True)

archive = Path(tempfile.mkdtemp()) / "rbm.h5"
# The archive keeps the parameters as they are, so log Z is of them and not of their average.
tracker = ztrack.Tracker(data=data, n_hidden=16, seed=1, averaging=0)
tracker.update(params.weight_matrix, params.vbias, params.hbias)
for update in range(1, UPDATES + 1):
    rows = data[torch.randint(0, len(data), (100,))]
    chains, _ = fit_batch_pcd((rows, torch.ones(100, 1)), chains, params, gibbs_steps=1, beta=1.0)
    optimizer.step()
    tracker.update(params.weight_matrix, params.vbias, params.hbias)  # the callback
    if update % (UPDATES // 4) == 0:
        save_model(str(archive), params, chains, update, time=0.0)
        ztrack.write_rbms_log_z(archive, update, tracker.log_z)
        model = ztrack.from_rbms(archive, update)
        exact = model.log_partition(method="exact").value
        theirs = compute_partition_function_ais(100, 100, params)
        errors = (tracker.log_z - exact) / tracker.std_error
        print(
            f"update {update:5}: tracked {tracker.log_z:.3f} +- {tracker.std_error:.3f} ({errors:+.1f} errors, {tracker.trust}), "
            f"exact {exact:.3f}, AIS of rbms (100 x 100) {theirs:.3f} without an error bar"
        )
assert abs(errors) < 5 or not tracker.trust
again = load_params(str(archive), UPDATES, torch.device("cpu"), torch.float32)
assert torch.equal(again.weight_matrix, params.weight_matrix)
