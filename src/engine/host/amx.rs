//! Tiles of AMX: matrix units of Intel servers, from Sapphire Rapids on.

use std::arch::asm;
use std::arch::x86_64::{
    __cpuid, __cpuid_count, _mm512_maskz_set1_epi8, _mm512_storeu_si512, _xgetbv,
};
use std::ops::Range;

use super::packed_rows::PackedRows;
use super::planes::{Planes, Tile, WIDTH};
use super::tile_output::Output;
use super::tiles::{HEIGHT, Sums, Tiles, multiply_with};

/// Whether this processor has tiles of 8-bit integers, and the system lets this process use them.
pub fn is_available() -> bool {
    if !cfg!(target_os = "linux") || __cpuid(0).eax < 7 {
        return false;
    }
    // AMX-TILE and AMX-INT8; OSXSAVE, without which `xgetbv` does not exist; both states of tiles switched on by the system.
    let has_tiles = __cpuid_count(7, 0).edx >> 24 & 0b11 == 0b11;
    let has_xgetbv = __cpuid(1).ecx >> 27 & 1 == 1;
    // SAFETY: the instruction is there.
    has_tiles && has_xgetbv && unsafe { enabled() } && permitted()
}

#[target_feature(enable = "xsave")]
fn enabled() -> bool {
    // SAFETY: the caller has seen OSXSAVE.
    unsafe { _xgetbv(0) >> 17 & 0b11 == 0b11 }
}

/// Asks Linux for the state of tiles, for all threads of this process.
fn permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST_PERMISSION: i64 = 0x1023;
    const TILE_DATA: i64 = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: a system call that reads no memory.
    unsafe {
        asm!("syscall", inlateout("rax") result, in("rdi") REQUEST_PERMISSION, in("rsi") TILE_DATA,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

/// [`multiply_with`] on tiles of the processor.
///
/// # Safety
/// [`is_available`], as AVX-512 is; nobody else works on these columns of the output.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
pub unsafe fn multiply(
    planes: &Planes,
    scale: &[f32],
    columns: Range<usize>,
    rows: &PackedRows<'_>,
    output: impl Output,
) {
    multiply_with(&mut Processor::new(), planes, scale, columns, rows, output);
}

/// The tiles of this thread while it has them. The compiler uses none, so what is in them stays from one instruction to the next.
struct Processor;

/// Palette 1: eight tiles of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

impl Processor {
    fn new() -> Self {
        let mut configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes: [0; 16],
            rows: [0; 16],
        };
        configuration.bytes[..8].fill(64);
        configuration.rows[..8].fill(HEIGHT as u8);
        // SAFETY: the instruction reads 64 bytes; made where tiles are there.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack)) };
        Self
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        // SAFETY: tiles are there.
        unsafe { asm!("tilerelease", options(nostack)) };
    }
}

impl Tiles for Processor {
    #[inline(always)]
    fn spread(word: u64, to: &mut [u8; 64]) {
        // SAFETY: machines with AMX have AVX-512; 64 bytes are written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_set1_epi8(word, 1)) };
    }

    #[inline(always)]
    fn clear<const T: usize>(&mut self) {
        // SAFETY: tiles are configured.
        unsafe { asm!("tilezero tmm{}", const T, options(nostack, nomem)) };
    }

    #[inline(always)]
    fn load<const T: usize>(&mut self, from: &Tile) {
        // SAFETY: 16 rows of 64 bytes, one after the other.
        unsafe {
            asm!("tileloadd tmm{}, [{} + {}*1]", const T, in(reg) &raw const *from, in(reg) 64_usize,
                options(nostack, readonly));
        }
    }

    #[inline(always)]
    fn store<const T: usize>(&self, to: &mut Sums) {
        // SAFETY: 16 rows of 16 numbers of 32 bits.
        unsafe {
            asm!("tilestored [{} + {}*1], tmm{}", in(reg) &raw mut *to, in(reg) 4 * WIDTH, const T,
                options(nostack));
        }
    }

    #[inline(always)]
    fn add<const C: usize, const A: usize, const B: usize, const SIGNED: bool>(&mut self) {
        // SAFETY: tiles are configured.
        unsafe {
            if SIGNED {
                asm!("tdpbusd tmm{}, tmm{}, tmm{}", const C, const A, const B, options(nostack, nomem));
            } else {
                asm!("tdpbuud tmm{}, tmm{}, tmm{}", const C, const A, const B, options(nostack, nomem));
            }
        }
    }
}
