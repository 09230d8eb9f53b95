//! Dense f32 matrices in the layout of the kernels: rows aligned to 64 bytes and padded to whole panels of 32.

use std::mem::MaybeUninit;

/// Number of f32 in one aligned group: rows are padded to whole groups.
pub const PANEL: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
struct Group<T>([T; PANEL]);

/// Whole groups of numbers of 32 bits, aligned to 64 bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Groups<T>(Vec<Group<T>>);

/// What a group is made of: numbers of 32 bits, so that groups are contiguous.
pub(super) trait Number: Copy {}
impl Number for f32 {}
impl Number for i32 {}

impl<T: Number> Groups<T> {
    /// So many groups of one value.
    pub fn filled(groups: usize, value: T) -> Self {
        Self(vec![Group([value; PANEL]); groups])
    }

    /// All numbers.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `Group` is repr(C) around [T; PANEL] with size 128, a multiple of its alignment, so groups are contiguous numbers.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * PANEL) }
    }

    /// All numbers for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * PANEL) }
    }
}

/// A matrix of shape [rows, columns] whose rows start at multiples of [`Matrix::stride`] floats.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    groups: Groups<f32>,
}

impl Matrix {
    /// Every entry, padding included, is `value`.
    pub fn filled(rows: usize, columns: usize, value: f32) -> Self {
        let groups = Groups::filled(rows * columns.div_ceil(PANEL), value);
        Self { rows, columns, groups }
    }

    /// A matrix that `write` fills: clean memory would be written twice.
    ///
    /// # Safety
    /// `write` writes every float, padding included.
    pub(super) unsafe fn written(
        rows: usize,
        columns: usize,
        write: impl FnOnce(&mut [MaybeUninit<f32>]),
    ) -> Self {
        let count = rows * columns.div_ceil(PANEL);
        let mut groups: Vec<Group<f32>> = Vec::with_capacity(count);
        let room = groups.spare_capacity_mut()[..count].as_mut_ptr();
        // SAFETY: groups are contiguous f32, see [`Groups::as_slice`]; the caller's `write` has made numbers of all of them.
        unsafe {
            write(std::slice::from_raw_parts_mut(room.cast(), count * PANEL));
            groups.set_len(count);
        }
        Self { rows, columns, groups: Groups(groups) }
    }

    /// From tight row-major values; padding is `padding`. `values` holds rows x columns numbers.
    pub fn from_rows(rows: usize, columns: usize, values: &[f32], padding: f32) -> Self {
        let mut matrix = Self::filled(rows, columns, padding);
        for (row, source) in values.chunks_exact(columns.max(1)).enumerate().take(rows) {
            matrix.row_mut(row).copy_from_slice(source);
        }
        matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Floats from one row's start to the next.
    pub fn stride(&self) -> usize {
        padded(self.columns)
    }

    /// One row without its padding.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.as_slice()[row * self.stride()..][..self.columns]
    }

    /// One row without its padding, for writing.
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let (stride, columns) = (self.stride(), self.columns);
        &mut self.as_mut_slice()[row * stride..][..columns]
    }

    /// All floats, padding included.
    pub fn as_slice(&self) -> &[f32] {
        self.groups.as_slice()
    }

    /// All floats for writing, padding included.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.groups.as_mut_slice()
    }

    /// Tight row-major copy, shape [rows, columns].
    pub fn to_rows(&self) -> Vec<f32> {
        (0..self.rows).flat_map(|row| self.row(row).iter().copied()).collect()
    }
}

/// `columns` rounded up to whole groups.
pub const fn padded(columns: usize) -> usize {
    columns.div_ceil(PANEL) * PANEL
}
