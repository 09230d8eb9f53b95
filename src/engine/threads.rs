//! Decides when a second thread is worthwhile, and keeps it awake between two pieces of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Fewest products of a state with a weight for which a second, awake thread ([`awake`]) is worthwhile: 20 microseconds of look-ups (39
/// million take .2 ms on Zen 3), ten times the cost of handing them over ...
const FEWEST_PRODUCTS: usize = 4_000_000;
/// ... and for which one that may have to be woken is: on a virtual machine waking takes a quarter of a millisecond, on a busy one much
/// more. `benches/peers/run.py`, 100 chains of 180 x 500.
const FEWEST_PRODUCTS_ASLEEP: usize = 40_000_000;

/// Cost in products of reading and writing a number of a dense matrix.
pub(crate) const AS_A_NUMBER: usize = 50;
/// Cost in products of an exponential, or of a draw, which needs one: 1 ns (means and draws of 100 x 500 units on Zen 3), a product .005.
pub(crate) const AS_AN_EXPONENTIAL: usize = 150;

/// Numbers of an array that one task works on, one by one.
pub(crate) const NUMBERS_PER_TASK: usize = 1 << 14;

/// Polling rounds of a thread before it lets other processes run.
const TURNS: usize = 50;

/// The threads for a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// The thread that calls.
    One,
    /// All threads of the pool if that is worthwhile, otherwise the calling thread.
    All,
}

impl Workers {
    /// Number of threads for so many products.
    pub(crate) fn for_products(self, products: usize) -> usize {
        match self {
            Self::All if worth_threads(products) => rayon::current_num_threads(),
            _ => 1,
        }
    }
}

/// Number of computations that keep their threads awake.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Whether so many products are worth more than one thread.
pub(crate) fn worth_threads(products: usize) -> bool {
    let awake = AWAKE.load(Ordering::Relaxed) > 0;
    products >= if awake { FEWEST_PRODUCTS } else { FEWEST_PRODUCTS_ASLEEP }
}

/// For rayon's `with_min_len`: fewest tasks of one thread among those that are so many products together; all if a second thread is not
/// worthwhile. An iterator that is not split runs in the caller, and no thread is woken.
pub(crate) fn fewest_tasks(products: usize) -> usize {
    if worth_threads(products) { 1 } else { usize::MAX }
}

/// Runs `work` of so many products in all, while other threads of the pool poll for tasks instead of sleeping when there are none: an
/// update of the parameters is a dozen pieces of a tenth of a millisecond, and waking a thread takes as long. Only on a thread of the pool,
/// which can hand out tasks.
pub(crate) fn awake<T>(products: usize, work: impl FnOnce() -> T) -> T {
    let pays = products / FEWEST_PRODUCTS;
    let others = pays.min(rayon::current_num_threads()).saturating_sub(1);
    let already = AWAKE.load(Ordering::Relaxed) > 0;
    if already || others == 0 || rayon::current_thread_index().is_none() {
        return work();
    }
    let awake = Awake::begin();
    (0..others).for_each(|_| look_for_work(Arc::clone(&awake.done)));
    work()
}

/// One short task after the other, so that a thread which waits for something else and runs one of them is not blocked by it. The last one
/// is not waited for, because on a busy machine its thread may not be running.
fn look_for_work(done: Arc<AtomicBool>) {
    rayon::spawn(move || {
        for _ in 0..TURNS {
            if rayon::yield_now() == Some(rayon::Yield::Executed) || done.load(Ordering::Relaxed) {
                break;
            }
            std::hint::spin_loop();
        }
        if !done.load(Ordering::Relaxed) {
            std::thread::yield_now();
            look_for_work(done);
        }
    });
}

/// Counts while it exists and sets a flag at its end, also at a panic or a signal.
struct Awake {
    done: Arc<AtomicBool>,
}

impl Awake {
    fn begin() -> Self {
        AWAKE.fetch_add(1, Ordering::Relaxed);
        Self { done: Arc::default() }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        AWAKE.fetch_sub(1, Ordering::Relaxed);
        self.done.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;
    use crate::config::Config;
    use crate::context::Device;
    use crate::data::{Dataset, Splits, Values};
    use crate::engine::BitMatrix;
    use crate::model::Parameters;
    use crate::training::Trainer;

    fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(work)
    }

    /// Updates large enough to be shared: products by columns, draws and means by rows, weights by pieces.
    fn updated(rule: &str) -> Parameters {
        let text = format!(
            r#"
            seed = 3
            data = {{ source = {{ name = "bars-and-stripes", side = 3 }}, validation_fraction = 0.0, test_fraction = 0.0 }}
            model = {{ hidden = 230 }}
            evaluation = {{ every = 1000000 }}
            audit = {{ every = 0 }}
            [training]
            updates = 12
            batch = 110
            centering = true
            gradient = {{ kind = "pcd", particles = 130 }}
            update = {{ rule = "{rule}" }}
            learning_rate = {{ initial = 0.01 }}
            early_stopping = false
            [tempering]
            every = 1000000
            chains = 10
            temperatures = 2
            initial_rounds = {{ sweeps = 1, most = 1, annealed_start = false }}
            "#
        );
        let config = Config::parse(&text, &[]).unwrap();
        let rows = BitMatrix::from_fn(600, 300, |row, unit| (row * 31 + unit * unit) % 7 < 2);
        let train = Dataset::new("rows", Values::Binary(rows), None, None).unwrap();
        let splits = Splits { train, validation: None, test: None };
        let mut trainer = Trainer::new(&config, splits, Device::default()).unwrap();
        while trainer.updates() < 12 {
            trainer.step().unwrap();
        }
        trainer.parameters()
    }

    #[test]
    fn updates_have_the_same_bits_on_any_number_of_threads() {
        const { assert!(110 * 300 * 230 > FEWEST_PRODUCTS, "these updates are not shared") };
        for rule in ["sgd", "adam"] {
            let expected = on(1, || updated(rule));
            for threads in [2, 3, 8] {
                assert_eq!(on(threads, || updated(rule)), expected, "{rule}, {threads} threads");
            }
            assert_eq!(updated(rule), expected, "{rule}, outside of the pool");
        }
    }

    /// Nested work, and two computations at once: a thread that waits for another must not be blocked by polling.
    #[test]
    fn threads_that_stay_awake_hold_nobody() {
        let sum = |rounds: u64| -> u64 {
            awake(usize::MAX, || {
                let inner = |i| (0..100u64).into_par_iter().map(|j| i * j % 7).sum::<u64>();
                (0..rounds).map(|_| (0..20).into_par_iter().map(inner).sum::<u64>()).sum()
            })
        };
        let expected = 200 * on(1, || sum(1));
        for threads in [2, 3, 8] {
            let found = on(threads, || rayon::join(|| sum(200), || awake(usize::MAX, || sum(200))));
            assert_eq!(found, (expected, expected), "{threads}");
        }
    }

    /// A flag that is never set would keep the threads of the pool busy forever.
    #[test]
    fn a_panic_lets_them_go() {
        on(3, || {
            let awake = Awake::begin();
            let done = Arc::clone(&awake.done);
            (0..2).for_each(|_| look_for_work(Arc::clone(&done)));
            let work = std::panic::AssertUnwindSafe(move || {
                let _awake = awake;
                panic!("on purpose");
            });
            assert!(std::panic::catch_unwind(work).is_err());
            let start = std::time::Instant::now();
            while Arc::strong_count(&done) > 1 {
                rayon::yield_now();
                assert!(start.elapsed().as_secs() < 60, "they still look for work");
            }
        });
    }
}
