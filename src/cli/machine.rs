//! `ztrack --version --verbose`: the build, the processor, and the kernels chosen for it.

use std::fmt::Write;
use std::fs;
use std::time::Instant;

use crate::engine::host::{InstructionSet, Tuning};

/// Sizes for which kernels are chosen and shown.
const SIZES: [(usize, usize); 4] = [(64, 16), (180, 500), (784, 500), (784, 2000)];

/// Version, processor, instruction sets and chosen kernels.
pub fn about() -> String {
    let mut text = format!("ztrack {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |name: &str, value: String| writeln!(text, "{name:<18}{value}").unwrap_or(());
    line("processor", processor());
    let sets: Vec<String> = InstructionSet::available().iter().map(ToString::to_string).collect();
    line("instruction sets", format!("{} (chosen: {})", sets.join(", "), InstructionSet::detect()));
    line("threads", rayon::current_num_threads().to_string());
    for (n_visible, n_hidden) in SIZES {
        let start = Instant::now();
        let tuning = Tuning::of(n_visible, n_hidden);
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();
        line(
            &format!("kernels {n_visible}x{n_hidden}"),
            format!(
                "hidden inputs {}, visible inputs {}, draws {}, softplus {}; {milliseconds:.1} ms to choose",
                tuning.hidden, tuning.visible, tuning.draws, tuning.sums
            ),
        );
    }
    text.push_str(
        "Shapes are columns x groups of 4 units x rows at once of a look-up table; ZTRACK_SHAPE and\n\
         ZTRACK_INSTRUCTION_SET ask for others. All give the same bits.\n",
    );
    text
}

/// Model and caches of the first processor, if the system gives them.
fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let mut text = field("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    if let (Some(family), Some(model)) = (field("cpu family"), field("model\t")) {
        let _ = write!(text, " (family {family}, model {model})");
    }
    for index in 0..4 {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            Some(fs::read_to_string(path).ok()?.trim().to_string())
        };
        if let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
            && kind != "Instruction"
        {
            let _ = write!(text, ", L{level} {size}");
        }
    }
    text
}
