//! Instructions and cache misses of the kernels, counted by callgrind: the same on every run, however busy the machine.
//!
//!     cargo bench --bench instructions               # fails where a kernel needs more than is written in instructions.csv
//!     cargo bench --bench instructions -- --write    # writes it
//!
//! Needs valgrind, which knows AVX2 and not AVX-512, so the AVX2 kernels are counted. Caches are simulated: 32 KB of L1, 1 MB behind
//! it. Another compiler may give other counts: then write them anew, and look at what changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ztrack::engine::random::{Purpose, Streams};
use ztrack::engine::{BetaGrid, BitMatrix, Draw, Host, Layer, Matrix};
use ztrack::model::test_systems::gaussian_parameters;

const COUNTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.csv");
const HEADER: &str = "kernel,instructions,misses_l1,misses_l2";
const KERNELS: [&str; 6] = [
    "hidden inputs",
    "visible inputs",
    "hidden draw",
    "categorical draw",
    "softplus sums",
    "outer products",
];
/// Growth of the instructions that fails.
const LIMIT: f64 = 1.1;
/// Rows of one call.
const ROWS: usize = 250;
const UNITS: (usize, usize) = (784, 500);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => compare(false),
        ["--write"] => compare(true),
        ["call", kernel, times] => {
            call(kernel, times.parse()?);
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("nothing, or --write".into()),
    }
}

/// The work of one kernel, `times` times over.
fn call(kernel: &str, times: usize) {
    let (n_visible, n_hidden) = UNITS;
    let bits = gaussian_parameters(n_visible, n_hidden, 0.1, 1);
    let engine = Host::new(&bits);
    // 196 variables of four states.
    let variables = "196*4".parse().expect("variables");
    let categorical = Host::new(&bits.of(variables).expect("784 columns"));
    let mut stream = Streams::new(1, Purpose::ChainStart, 0).row(0);
    let mut rows = |units| BitMatrix::from_fn(ROWS, units, |_, _| stream.uniform() < 0.5);
    let (visible, mut hidden, mut drawn) = (rows(n_visible), rows(n_hidden), rows(n_visible));
    let mut hidden_inputs = Matrix::filled(ROWS, n_hidden, 0.3);
    let mut visible_inputs = Matrix::filled(ROWS, n_visible, 0.0);
    let betas: Vec<f64> = (0..50).map(|k| f64::from(k) / 49.0).collect();
    let grid = BetaGrid::new(&betas);
    let mut sums = vec![0.0; ROWS * betas.len()];
    for step in 0..times as u64 {
        match kernel {
            "hidden inputs" => {
                engine.inputs_of(Layer::Hidden, visible.words(), hidden_inputs.as_mut_slice());
            }
            "visible inputs" => {
                engine.inputs_of(Layer::Visible, hidden.words(), visible_inputs.as_mut_slice());
            }
            "hidden draw" => {
                let draw = draw(&hidden_inputs, Purpose::ParticleHidden, step);
                engine.draw(&draw, hidden.words_mut());
            }
            "categorical draw" => {
                let draw = draw(&visible_inputs, Purpose::ParticleVisible, step);
                categorical.draw_visible(&draw, drawn.words_mut());
            }
            "softplus sums" => {
                engine.softplus_sums(n_hidden, hidden_inputs.as_slice(), &grid, &mut sums);
            }
            _ => drop(engine.outer_products(&visible, &hidden_inputs)),
        }
    }
}

/// Instructions, and misses of both caches, of one call: those of three calls less those of one.
fn counted(kernel: &str, folder: &Path) -> Result<[u64; 3], Failure> {
    let run = |times: &str| -> Result<[u64; 3], Failure> {
        let out = folder.join("callgrind.out");
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64"])
            .args(["--LL=1048576,16,64", &format!("--callgrind-out-file={}", out.display())])
            .arg(std::env::current_exe()?)
            .args(["call", kernel, times])
            .envs([("ZTRACK_INSTRUCTION_SET", "avx2"), ("ZTRACK_SHAPE", "32x16x1")])
            .env("RAYON_NUM_THREADS", "1")
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let text = fs::read_to_string(out)?;
        let fields = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|line| line.split_whitespace().map(String::from).collect::<Vec<_>>())
        };
        let names = fields("events:").ok_or("no events in callgrind's file")?;
        let totals = fields("totals:").or(fields("summary:")).ok_or("no totals")?;
        let of = |wanted: &[&str]| -> u64 {
            let events = names.iter().zip(&totals);
            events
                .filter(|(name, _)| wanted.contains(&name.as_str()))
                .map(|(_, n)| n.parse().unwrap_or(0))
                .sum()
        };
        Ok([of(&["Ir"]), of(&["D1mr", "D1mw"]), of(&["DLmr", "DLmw"])])
    };
    let (one, three) = (run("1")?, run("3")?);
    Ok(std::array::from_fn(|i| three[i].saturating_sub(one[i]) / 2))
}

fn compare(write: bool) -> Result<ExitCode, Failure> {
    let folder = tempfile::tempdir()?;
    let known: BTreeMap<String, u64> = fs::read_to_string(COUNTS)
        .unwrap_or_default()
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split(',');
            Some((cells.next()?.to_string(), cells.next()?.parse().ok()?))
        })
        .collect();
    let mut table = format!("{HEADER}\n");
    let mut good = true;
    for kernel in KERNELS {
        let [instructions, l1, l2] = counted(kernel, folder.path())?;
        table += &format!("{kernel},{instructions},{l1},{l2}\n");
        let before = known.get(kernel).copied();
        let more = before.is_some_and(|before| instructions as f64 > LIMIT * before as f64);
        let unknown = before.is_none() && !write;
        let word = match (more, unknown) {
            (true, _) => "MORE",
            (_, true) => "UNKNOWN",
            _ => "ok",
        };
        let before = before.map_or("none".into(), |before| before.to_string());
        println!(
            "{kernel:<16}{instructions:>12} instructions (written: {before}), misses {l1} L1, {l2} L2  {word}"
        );
        good &= !more && !unknown;
    }
    if write {
        fs::write(COUNTS, table)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !good {
        println!(
            "more than {LIMIT} times the instructions in benches/instructions.csv; where that is meant: -- --write"
        );
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A draw at beta = 1 from inputs of shape [ROWS, units].
fn draw(inputs: &Matrix, purpose: Purpose, step: u64) -> Draw<'_> {
    Draw {
        n_units: inputs.columns(),
        inputs: inputs.as_slice(),
        beta: &[1.0; ROWS],
        base: None,
        streams: Streams::new(1, purpose, step),
        first_row: 0,
    }
}
