//! Which vector instructions this machine has, found once at run time.

use std::fmt;
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Asks for a lesser instruction set than the best.
const WISH: &str = "ZTRACK_INSTRUCTION_SET";

/// Instruction sets kernels are compiled for. All give the same bits: products are sums of whole numbers, sums of floats run in the same
/// order, and fused multiply-add is used only where it cannot change a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// AVX-512 as below, and AMX tiles of 8-bit integers for products.
    #[cfg(target_arch = "x86_64")]
    Amx,
    /// AVX-512 F, BW, DQ, VL, with BMI and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2, with BMI and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON. Draws have a kernel of their own; the compiler vectorises the portable kernels of all else as well as intrinsics
    /// would, because every 64-bit Arm machine has NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What the target always has (SSE2 on x86-64, NEON on 64-bit Arm), vectorised by the compiler.
    Portable,
}

impl InstructionSet {
    /// The best one here; `ZTRACK_INSTRUCTION_SET` = `portable`, `avx2` or `avx512` asks for a lesser one.
    pub fn detect() -> Self {
        static FOUND: OnceLock<InstructionSet> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let wish = std::env::var(WISH).unwrap_or_default();
            Self::available()
                .into_iter()
                .find(|set| match wish.as_str() {
                    "portable" => *set == Self::Portable,
                    #[cfg(target_arch = "x86_64")]
                    "avx2" => !matches!(set, Self::Amx | Self::Avx512),
                    #[cfg(target_arch = "x86_64")]
                    "avx512" => *set != Self::Amx,
                    _ => true,
                })
                .unwrap_or(Self::Portable)
        })
    }

    /// Candidates for the fastest: all with vectors of their own, unless one was selected.
    pub(super) fn candidates() -> Vec<Self> {
        let asked = std::env::var(WISH).is_ok_and(|wish| !matches!(wish.as_str(), "" | "best"));
        let mut sets = Self::available();
        sets.retain(|set| *set == Self::detect() || (!asked && *set != Self::Portable));
        sets
    }

    /// Whether the environment variable names an available set; [`InstructionSet::detect`] uses the best otherwise.
    ///
    /// # Errors
    /// Names the possible values.
    pub fn check_wish() -> Result<()> {
        let Some(wish) = std::env::var_os(WISH) else { return Ok(()) };
        match wish.to_str() {
            Some("" | "best" | "avx512" | "avx2" | "portable") => Ok(()),
            _ => Err(Error::Unknown(format!(
                "environment variable {WISH}: `{}` is none of portable, avx2, avx512, best",
                wish.display()
            ))),
        }
    }

    /// Whether products run on matrix units.
    pub(super) fn has_tiles(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self == Self::Amx;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The vectors of it, for work that is not a product.
    pub(super) fn vectors(self) -> Self {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Self::Avx512,
            set => set,
        }
    }

    /// All that this machine has, best first.
    pub fn available() -> Vec<Self> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && bits
            {
                if super::amx::is_available() {
                    sets.push(Self::Amx);
                }
                sets.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && bits {
                sets.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            sets.push(Self::Neon);
        }
        sets.push(Self::Portable);
        sets
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            #[cfg(target_arch = "x86_64")]
            Self::Amx => "amx",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon => "neon",
            Self::Portable => "portable",
        })
    }
}

/// Compiles `$body`, plain code that must be `#[inline(always)]`, for every instruction set; the function it defines runs
/// that of the set it is given as first argument. Of two names the first one is a function that takes the best set there is.
macro_rules! for_every_instruction_set {
    ($(#[$attribute:meta])* $visibility:vis fn $best:ident, $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path) => {
        $(#[$attribute])*
        $visibility fn $best($($argument: $type),*) $(-> $result)? {
            $name($crate::engine::host::InstructionSet::detect(), $($argument),*)
        }
        for_every_instruction_set! { fn $name($($argument: $type),*) $(-> $result)? = $body }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path) => {
        $(#[$attribute])*
        $visibility fn $name(set: $crate::engine::host::InstructionSet, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
            fn avx512($($argument: $type),*) $(-> $result)? {
                $body($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                $body($($argument),*)
            }
            match set {
                // SAFETY: sets other than `Portable` are made only where they were detected.
                #[cfg(target_arch = "x86_64")]
                $crate::engine::host::InstructionSet::Amx
                | $crate::engine::host::InstructionSet::Avx512 => unsafe { avx512($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::engine::host::InstructionSet::Avx2 => unsafe { avx2($($argument),*) },
                // NEON is always there: the compiler vectorises the body with it as it is.
                #[cfg(target_arch = "aarch64")]
                $crate::engine::host::InstructionSet::Neon => $body($($argument),*),
                $crate::engine::host::InstructionSet::Portable => $body($($argument),*),
            }
        }
    };
}
pub(super) use for_every_instruction_set;
