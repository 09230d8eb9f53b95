//! Rows of bits as they are read: discarded data are never stored, and memory is checked before it is allocated.

use crate::data::limits::{Checked, check_shape};
use crate::engine::{BitMatrix, words_per_row};
use crate::memory::{check_memory, reserve};

/// Bytes from which on growth is compared with the free memory.
const LARGE: usize = 64 << 20;

/// Packed rows, all of the same number of words, which may grow.
#[derive(Default)]
pub(super) struct GrowingRows {
    words: Vec<u64>,
    rows: usize,
    columns: usize,
}

impl GrowingRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Another row of zeros, to be filled; all rows get at least so many columns.
    pub fn push(&mut self, columns: usize) -> Checked<&mut [u64]> {
        self.widen(columns)?;
        check_shape(self.rows + 1, self.columns.max(1), true)?;
        self.grow(words_per_row(self.columns))?;
        self.rows += 1;
        Ok(self.last())
    }

    /// The last row.
    pub fn last(&mut self) -> &mut [u64] {
        let start = self.words.len() - words_per_row(self.columns);
        &mut self.words[start..]
    }

    /// The rows as a matrix of so many columns, which include all ones.
    pub fn finish(mut self, columns: usize) -> Checked<BitMatrix> {
        self.widen(columns)?;
        let (wide, narrow) = (words_per_row(self.columns), words_per_row(columns));
        if narrow < wide {
            (0..self.rows).for_each(|row| {
                self.words.copy_within(row * wide..row * wide + narrow, row * narrow);
            });
            self.words.truncate(self.rows * narrow);
        }
        self.words.shrink_to_fit();
        BitMatrix::from_words(self.rows, columns, self.words)
            .ok_or_else(|| format!("holds no whole rows of {columns} columns"))
    }

    /// More columns: a power of two of words, so that rows which grow one by one are moved few times.
    fn widen(&mut self, columns: usize) -> Checked<()> {
        if columns <= self.columns {
            return Ok(());
        }
        let (old, mut new) = (words_per_row(self.columns), words_per_row(columns));
        if self.rows > 0 && new > old {
            check_shape(self.rows, columns, true)?;
            new = new.next_power_of_two();
            self.grow(self.rows * (new - old))?;
            // From the last on, so that none is overwritten before it was moved.
            for row in (0..self.rows).rev() {
                self.words.copy_within(row * old..(row + 1) * old, row * new);
                self.words[row * new + old..(row + 1) * new].fill(0);
            }
        }
        self.columns = if self.rows > 0 && new > old { 64 * new } else { columns };
        Ok(())
    }

    fn grow(&mut self, more: usize) -> Checked<()> {
        let needed = self.words.len() + more;
        if needed > self.words.capacity() {
            let target = needed.max(2 * self.words.capacity());
            let bytes = 8 * (target - self.words.capacity());
            if bytes > LARGE {
                check_memory(bytes as f64, &format!("{} rows and those to come", self.rows))?;
            }
            let more = target - self.words.len();
            reserve(&mut self.words, more)?;
        }
        self.words.resize(needed, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_grow_wider_keep_their_ones() {
        let mut rows = GrowingRows::default();
        let widest = [3, 70, 2, 500, 1, 129];
        for (row, &column) in widest.iter().enumerate() {
            let words = rows.push(column + 1).unwrap();
            words[column / 64] |= 1 << (column % 64);
            words[0] |= 1;
            assert_eq!(rows.len(), row + 1);
        }
        for columns in [501, 600] {
            let rows = GrowingRows { words: rows.words.clone(), ..rows };
            let bits = rows.finish(columns).unwrap();
            let expected = BitMatrix::from_fn(6, columns, |i, j| j == 0 || widest[i] == j);
            assert_eq!(bits, expected);
        }
    }
}
