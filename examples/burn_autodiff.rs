//! An RBM trained by Burn alone, with its automatic gradients and one of its optimizers, and log Z beside it.
//!
//!     cargo run --release --features autodiff --example burn_autodiff [-- --quick]

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use ztrack::engine::random::{Purpose, Streams};
use ztrack::model::{RbmConfig, exact};
use ztrack::{BitMatrix, LogZTracker, Result};

fn main() -> Result<()> {
    let updates = if std::env::args().any(|argument| argument == "--quick") { 200 } else { 2000 };
    #[allow(deprecated)]
    let device = Device::ndarray().autodiff();
    // Pictures of 4 x 4 pixels in which each row is all on or all off.
    let bits = BitMatrix::from_fn(160, 16, |row, cell| (row / 10) >> (cell / 4) & 1 == 1);
    let cells: Vec<f32> =
        (0..160 * 16).map(|i| f32::from(u8::from(bits.get(i / 16, i % 16)))).collect();
    let data = Tensor::<2>::from_data(TensorData::new(cells, [160, 16]), &device);

    let mut rbm = RbmConfig::new(16, 12).init(&device);
    let mut adam = AdamConfig::new().init();
    let mut particles = data.clone().inner();
    let mut tracker = LogZTracker::builder(&bits).hidden(12).build()?;
    tracker.update(&rbm.parameters())?;
    println!("update    tracked log Z       exact  log-likelihood");
    for update in 1..=updates {
        // One Gibbs sweep of the particles (persistent contrastive divergence), without gradients.
        let sampler = rbm.valid();
        let streams = |purpose| Streams::new(1, purpose, update);
        let hidden = sampler.sample_hidden(particles, streams(Purpose::ParticleHidden));
        particles = sampler.sample_visible(hidden, streams(Purpose::ParticleVisible));
        // Its gradient is that of the negative log-likelihood, with particles for the model's expectations.
        let model = Tensor::from_inner(particles.clone());
        let loss = rbm.free_energy(data.clone()).mean() - rbm.free_energy(model).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &rbm);
        rbm = adam.step(0.01, rbm, gradients);

        tracker.update(&rbm.parameters())?;
        if update % (updates / 10) == 0 {
            let found = tracker.evaluate()?;
            let likelihood = tracker.log_likelihood(&bits)?;
            // Of the running average, which is what the tracker reports on.
            let exact = tracker.parameters().map_or(Ok(f64::NAN), exact::log_partition)?;
            println!(
                "{update:>6}  {:8.3} +- {:.3}  {exact:10.3}  {:8.3} +- {:.3}",
                found.value, found.std_error, likelihood.value, likelihood.std_error
            );
        }
    }
    Ok(())
}
