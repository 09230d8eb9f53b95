//! The labels of a table: integers unchanged, words numbered in their order.

use std::collections::BTreeMap;

use super::encoding::{is_missing, shown, whole};
use crate::data::limits::Checked;
use crate::memory::make_room;

/// Most different labels; a column with more has other values.
const MOST: usize = 10_000;
/// Longest label in bytes.
pub(super) const LONGEST: usize = 256;
/// Number of labels from which on their growth is compared with the free memory.
const MANY: usize = 1 << 22;

/// Labels as they are read.
#[derive(Default)]
pub(super) struct Labels {
    /// Different labels with their numbers, by first appearance.
    known: BTreeMap<Vec<u8>, u32>,
    /// One a row.
    rows: Vec<u32>,
}

impl Labels {
    pub fn push(&mut self, cell: &[u8]) -> Checked<()> {
        if is_missing(cell) {
            return Err("the label is missing".into());
        } else if cell.len() > LONGEST {
            return Err(format!("the label is longer than {LONGEST} bytes"));
        }
        let next = self.known.len();
        let number = match self.known.get(cell) {
            Some(number) => *number,
            None if next == MOST => {
                return Err(format!(
                    "`{}` is one label more than the {MOST} allowed: is this the column of labels?",
                    shown(cell)
                ));
            }
            None => *self.known.entry(cell.to_vec()).or_insert(next as u32),
        };
        // 16 bytes: these, and the integers made from them.
        make_room(&mut self.rows, (1, 1024), (MANY, 16.0, "the labels of the rows to come"))?;
        self.rows.push(number);
        Ok(())
    }

    /// Integers if every label is one, else the positions of the sorted labels, from 0.
    pub fn finish(self) -> Vec<i64> {
        let mut values = vec![0; self.known.len()];
        let integers: Option<Vec<i64>> = self.known.keys().map(|label| integer(label)).collect();
        for (place, number) in self.known.values().enumerate() {
            values[*number as usize] = integers.as_ref().map_or(place as i64, |all| all[place]);
        }
        self.rows.into_iter().map(|number| values[number as usize]).collect()
    }
}

/// 3, and 3.0 as well.
fn integer(label: &[u8]) -> Option<i64> {
    let exact = std::str::from_utf8(label).ok().and_then(|text| text.parse().ok());
    exact.or_else(|| whole(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> Vec<i64> {
        let mut found = Labels::default();
        labels.iter().for_each(|label| found.push(label.as_bytes()).unwrap());
        found.finish()
    }

    #[test]
    fn integers_stay_and_words_are_numbered_in_their_order() {
        assert_eq!(read(&["3", "-1", "+3", "2.0"]), [3, -1, 3, 2]);
        assert_eq!(read(&["dog", "cat", "dog", "ant"]), [2, 1, 2, 0]);
        assert_eq!(read(&["True", "False"]), [1, 0]);
    }

    #[test]
    fn what_is_no_label_is_refused() {
        let mut labels = Labels::default();
        assert!(labels.push(b"NA").unwrap_err().contains("missing"));
        assert!(labels.push(&[b'x'; 300]).unwrap_err().contains("longer"));
        (0..MOST).for_each(|i| labels.push(i.to_string().as_bytes()).unwrap());
        assert!(labels.push(b"0").is_ok() && labels.push(b"new").unwrap_err().contains("10000"));
    }
}
