//! The models. They are trained here, because those of the paper are not published.

use ztrack::Result;
use ztrack::data::generators::BarsAndStripes;
use ztrack::data::{Binarization, Binarizer};
use ztrack::engine::{BitMatrix, Engine, Host};
use ztrack::model::Parameters;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::BaseDistribution;
use ztrack::training::gradient::{Centering, Particles, gradient};
use ztrack::training::update::{Sgd, SgdConfig, UpdateRule};

use crate::support::mnist::training_rows;

const BATCH: usize = 100;
/// How the models are trained: name, sweeps from the batch (0: persistent chains).
pub const MODELS: [(&str, usize); 3] = [("PCD", 0), ("CD1", 1), ("CD25", 25)];

/// MNIST with pixels above 1/2 on, or pictures that need no file.
pub fn data(seed: u64) -> Result<BitMatrix> {
    if let Some(rows) = training_rows() {
        return Ok(rows);
    }
    println!("MNIST is missing: bars and stripes instead, whose numbers are not the paper's.");
    let generator = BarsAndStripes { side: 8, rows: 10_000, noise: 0.05, seed };
    Binarizer::new(Binarization::None)?.binarize(&generator.generate()?, 0, 0)
}

/// Centered gradient ascent with batches of 100, from the marginals; CD-k from the batch, or PCD-1 where `sweeps` is 0.
pub fn train(
    data: &BitMatrix,
    hidden: usize,
    sweeps: usize,
    (updates, rate): (usize, f64),
    seed: u64,
) -> Result<Parameters> {
    let marginals = BaseDistribution::from_marginals(data, 1.0, &ztrack::units::Variables::BITS)?;
    let (m, rows) = (data.columns(), data.rows());
    let mut parameters = Parameters {
        visible_bias: marginals.logits().to_vec(),
        hidden_bias: vec![0.0; hidden],
        ..gaussian_parameters(m, hidden, 0.01, seed)
    };
    let mut rule = Sgd::new(SgdConfig { momentum: 0.0, nesterov: false }, m, hidden);
    let mut particles = Particles { visible: marginals.sample(BATCH, seed, 1), seed, sweeps: 0 };
    let means = marginals.logits().iter().map(|&a| 1.0 / (1.0 + f64::from(-a).exp())).collect();
    let mut centering = Centering::new(means, hidden);
    for update in 0..updates {
        if update % 5000 == 0 && update > 0 {
            eprintln!("  {update} of {updates} updates");
        }
        // A stride prime to the number of rows mixes the classes of a sorted file.
        let batch = data.select((0..BATCH).map(|i| (update * BATCH + i) * 7919 % rows));
        let engine = Host::new(&parameters);
        let positive = engine.moments(&batch, None);
        centering.follow(&positive);
        if sweeps > 0 {
            particles.visible = batch;
        }
        particles.sweep(&engine, sweeps.max(1));
        let negative = engine.moments(&particles.visible, None);
        rule.step(&mut parameters, &gradient(&positive, &negative, Some(&centering)), rate);
    }
    Ok(parameters)
}
