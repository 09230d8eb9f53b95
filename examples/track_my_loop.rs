//! log Z of a custom training loop: PCD in Burn, with three lines for the tracker, beside the exact value.
//!
//!     cargo run --release --example track_my_loop [-- --quick]

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Distribution, Tensor};
use ztrack::data::Rows;
use ztrack::engine::BitMatrix;
use ztrack::model::exact;
use ztrack::{LogZTracker, Parameters, Result};

const HIDDEN: usize = 16;
const BATCH: usize = 100;
const RATE: f64 = 0.05;

fn draw(p: Tensor<2>) -> Tensor<2> {
    let uniform = Tensor::random(p.dims(), Distribution::Uniform(0.0, 1.0), &p.device());
    uniform.lower(p).float()
}

fn hidden(v: &Tensor<2>, w: &Tensor<2>, b: &Tensor<1>) -> Tensor<2> {
    sigmoid(v.clone().matmul(w.clone()) + b.clone().unsqueeze())
}

fn main() -> Result<()> {
    let updates = if std::env::args().any(|argument| argument == "--quick") { 300 } else { 3000 };
    #[allow(deprecated)]
    let device = Device::ndarray();
    device.seed(1);
    // Pictures of 4 x 4 pixels in which each row is all on or all off.
    let bits = BitMatrix::from_fn(1600, 16, |row, cell| ((row * 7 / 16) >> (cell / 4)) & 1 == 1);
    let cells: Vec<f32> =
        (0..1600 * 16).map(|i| f32::from(u8::from(bits.get(i / 16, i % 16)))).collect();
    let data = Tensor::<1>::from_floats(cells.as_slice(), &device).reshape([1600, 16]);

    let mut w = Tensor::<2>::random([16, HIDDEN], Distribution::Normal(0.0, 0.01), &device);
    let (mut c, mut b) = (Tensor::<1>::zeros([16], &device), Tensor::<1>::zeros([HIDDEN], &device));
    let mut particles = draw(Tensor::full([BATCH, 16], 0.5, &device));

    let mut tracker = LogZTracker::builder(&data.dataset()?).hidden(HIDDEN).seed(1).build()?;
    tracker.update(&Parameters::from_tensors(w.clone(), c.clone(), b.clone())?)?;
    println!("update  tracked log Z       exact   errors  log-lik.  trust");
    for update in 1..=updates {
        let first = update * BATCH % 1600;
        let v = data.clone().slice(first..first + BATCH);
        let h = hidden(&v, &w, &b);
        let model = draw(hidden(&particles, &w, &b));
        particles = draw(sigmoid(model.matmul(w.clone().transpose()) + c.clone().unsqueeze()));
        let model = hidden(&particles, &w, &b);
        let products = v.clone().transpose().matmul(h.clone())
            - particles.clone().transpose().matmul(model.clone());
        w = w + products * (RATE / BATCH as f64);
        c = c + (v - particles.clone()).mean_dim(0).squeeze_dim(0) * RATE;
        b = b + (h - model).mean_dim(0).squeeze_dim(0) * RATE;

        let parameters = Parameters::from_tensors(w.clone(), c.clone(), b.clone())?;
        tracker.update(&parameters)?;
        if update % (updates / 10) == 0 {
            let found = tracker.evaluate()?;
            // For the running average, which is the tracked model.
            let exact = exact::log_partition(tracker.parameters().unwrap_or(&parameters))?;
            let likelihood = tracker.log_likelihood(&bits)?;
            println!(
                "{update:>6}  {:8.3} +- {:.3}  {exact:8.3}  {:+7.1}  {:8.3}  {}",
                found.value,
                found.std_error,
                (found.value - exact) / found.std_error,
                likelihood.value,
                found.trust
            );
        }
    }
    Ok(())
}
