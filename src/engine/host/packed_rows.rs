//! Rows of states that a product reads and rows of numbers that it writes, for threads that each have columns of their own.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::shape::WIDEST;
use crate::engine::PANEL;

/// Most groups with a set bit in a word for which going from one to the next beats going through all.
pub const SPARSE: u32 = 7;

/// Packed rows, and where their sums go. Not to be copied: whoever has it for writing has the output alone.
pub struct PackedRows<'a> {
    /// Packed rows of `words` words.
    pub given: &'a [u64],
    /// Words in a row.
    pub words: usize,
    /// Floats from one output row to the next.
    pub stride: usize,
    /// What is added to the scaled sums, one row for all, [stride].
    pub start: &'a [f32],
    /// Output rows of `stride` floats, as many as there are packed rows; whole numbers of the same size until sums are complete.
    pub(super) out: *mut f32,
    borrowed: PhantomData<&'a mut [MaybeUninit<f32>]>,
}

// SAFETY: threads write to columns of their own, as the kernels ask for.
unsafe impl Send for PackedRows<'_> {}
// SAFETY: as above.
unsafe impl Sync for PackedRows<'_> {}

impl<'a> PackedRows<'a> {
    /// Rows of `words` words, and output rows as long as `start`.
    ///
    /// Panics as [`PackedRows::unwritten`].
    pub fn new(given: &'a [u64], words: usize, start: &'a [f32], out: &'a mut [f32]) -> Self {
        // SAFETY: of the same layout, and kernels write numbers alone.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
        Self::unwritten(given, words, start, out)
    }

    /// The same, where the output holds no numbers yet.
    ///
    /// Panics if they do not go together (a bug in the caller, never input): what is left over on one side would be passed over
    /// in silence.
    pub fn unwritten(
        given: &'a [u64],
        words: usize,
        start: &'a [f32],
        out: &'a mut [MaybeUninit<f32>],
    ) -> Self {
        let stride = start.len();
        assert!(given.len().is_multiple_of(words) && stride.is_multiple_of(PANEL));
        assert!(out.len() == given.len() / words * stride);
        let out = out.as_mut_ptr().cast();
        Self { given, words, stride, start, out, borrowed: PhantomData }
    }

    /// The same for a product that is not kept.
    pub fn without_output(given: &'a [u64], words: usize, start: &'a [f32]) -> Self {
        assert!(given.len().is_multiple_of(words) && start.len().is_multiple_of(PANEL));
        let out = std::ptr::null_mut();
        Self { given, words, stride: start.len(), start, out, borrowed: PhantomData }
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.given.len() / self.words
    }

    /// The columns of a table.
    ///
    /// # Safety
    /// There is such a column.
    #[inline(always)]
    pub unsafe fn places(&self, at: At) -> Places {
        // SAFETY: the caller's.
        unsafe {
            let to = self.out.add(at.column).cast::<i32>();
            let (from, from_stride) = match at.first {
                true => (ZEROS.as_ptr(), 0),
                false => (to.cast_const(), self.stride),
            };
            Places { from, from_stride, to, stride: self.stride }
        }
    }

    /// Whether most rows have so few set bits in a word that passing over empty groups pays.
    pub fn sparse(&self, word: usize) -> bool {
        let given = self.given.chunks_exact(self.words);
        let few = given.filter(|row| used_groups(row[word]).count_ones() <= SPARSE).count();
        2 * few > self.count()
    }
}

/// The lowest bit of every group that has a set bit.
pub fn used_groups(word: u64) -> u64 {
    let used = word | word >> 1;
    (used | used >> 2) & 0x1111_1111_1111_1111
}

/// What sums begin with.
static ZEROS: [i32; WIDEST] = [0; WIDEST];

/// Where the units of a table start in the packed rows, and its columns in the output.
#[derive(Clone, Copy)]
pub struct At {
    pub word: usize,
    /// First bit within the word.
    pub bit: u32,
    pub column: usize,
    /// See [`PackedRows::sparse`].
    pub sparse: bool,
    /// Whether sums begin here, or continue with the whole numbers in the output.
    pub first: bool,
}

/// Where the sums of a row begin and where they go.
#[derive(Clone, Copy)]
pub struct Place {
    pub from: *const i32,
    pub to: *mut i32,
}

/// The same of all rows.
pub struct Places {
    from: *const i32,
    /// 0 where all begin with the same numbers.
    from_stride: usize,
    to: *mut i32,
    stride: usize,
}

impl Places {
    /// # Safety
    /// The row is in range.
    #[inline(always)]
    pub unsafe fn of(&self, row: usize) -> Place {
        // SAFETY: the caller's.
        unsafe {
            Place {
                from: self.from.add(row * self.from_stride),
                to: self.to.add(row * self.stride),
            }
        }
    }
}
