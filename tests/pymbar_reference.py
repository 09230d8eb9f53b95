"""Prints as JSON log Z_k - log Z_1 by pymbar: argument 1 is an npy of log f_k(x_i), [N, K], argument 2 one of n_k, [K]."""

import json
import sys

import numpy as np
from pymbar import MBAR

log_f, counts = (np.load(path) for path in sys.argv[1:])
# u_kn is -log f_k; MBAR's f_k is -log Z_k. Tolerances far below the 1e-6 that is compared.
mbar = MBAR(-log_f.T, counts, relative_tolerance=1e-13, maximum_iterations=10000)
print(json.dumps(list(mbar.f_k[0] - mbar.f_k)))
