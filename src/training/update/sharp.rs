//! The # operator of the Schatten-infinity norm: steepest direction when steps are measured by their largest singular value.
//!
//! X# = argmax_Y <X,Y> - |Y|^2/2 = |X|_nuc U V', for X = U S V' (Carlson, Cevher, Carin 2015). Without an SVD: with m the
//! smaller side, A = X or X' with m rows, A A' = Q diag(w) Q', s = sqrt(w): X# = (sum s) Q diag(1/s) Q' A. Squaring costs half
//! the digits, hence f64 throughout and directions with w < 1e-12 max w dropped. Cost O(m^2 (n + 9 m)), one thread, so that
//! the result is the same for any number of threads.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Par};

/// Eigenvalues of A A' below this fraction of the largest are rounding noise.
const RELATIVE_CUTOFF: f64 = 1e-12;

/// X#, row-major like X, shape [rows, columns]. Zero for a zero matrix; NaN throughout where X is not finite.
pub fn sharp(x: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    if x.iter().any(|x| !x.is_finite()) {
        return vec![f32::NAN; x.len()];
    }
    // Scaled to a largest entry of 1, so that squares neither overflow nor vanish. X# scales as X does.
    let scale = f64::from(x.iter().fold(0.0f32, |max, x| max.max(x.abs())));
    if scale == 0.0 {
        return x.to_vec();
    }
    // A, always m x n with m <= n; a row-major array is a column-major matrix of its transpose.
    let (m, n) = (rows.min(columns), rows.max(columns));
    let wide = rows <= columns;
    let a = Mat::from_fn(m, n, |i, j| {
        f64::from(x[if wide { i * columns + j } else { j * columns + i }]) / scale
    });
    let Some(polar) = nuclear_polar(a.as_ref()) else {
        return vec![f32::NAN; x.len()];
    };
    let mut values = x.to_vec();
    for i in 0..m {
        for j in 0..n {
            let place = if wide { i * columns + j } else { j * columns + i };
            values[place] = (scale * polar[(i, j)]) as f32;
        }
    }
    values
}

/// |A|_nuc polar(A); `None` if the eigenvalue iteration does not converge.
fn nuclear_polar(a: MatRef<'_, f64>) -> Option<Mat<f64>> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut gram = Mat::zeros(m, m);
    triangular::matmul(
        &mut gram,
        BlockStructure::TriangularLower,
        Accum::Replace,
        a,
        BlockStructure::Rectangular,
        a.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    let mut w = Diag::<f64>::zeros(m);
    let mut q = Mat::<f64>::zeros(m, m);
    let compute = ComputeEigenvectors::Yes;
    let scratch = self_adjoint_evd_scratch::<f64>(m, compute, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    self_adjoint_evd(
        gram.as_ref(),
        w.as_mut(),
        Some(q.as_mut()),
        Par::Seq,
        stack,
        Default::default(),
    )
    .ok()?;

    // Ascending eigenvalues: keep the columns from `first` on.
    let w: Vec<f64> = (0..m).map(|i| w[i]).collect();
    let first = w.iter().position(|&x| x > RELATIVE_CUTOFF * w[m - 1])?;
    let nuclear: f64 = w[first..].iter().map(|x| x.sqrt()).sum();
    let kept = q.as_ref().subcols(first, m - first);
    let scaled = Mat::from_fn(m, m - first, |i, k| kept[(i, k)] * nuclear / w[first + k].sqrt());
    let mut inverse_root = Mat::zeros(m, m);
    matmul(&mut inverse_root, Accum::Replace, &scaled, kept.transpose(), 1.0, Par::Seq);
    let mut polar = Mat::zeros(m, n);
    matmul(&mut polar, Accum::Replace, &inverse_root, a, 1.0, Par::Seq);
    Some(polar)
}
