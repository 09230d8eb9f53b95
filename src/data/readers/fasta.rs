//! Aligned sequences: FASTA and A3M. Every position is a categorical variable with a state for each letter and one for the gap.
//!
//! The alphabet is that of DNA or RNA (4 letters) if no other letter occurs, else that of proteins (20). Letters outside the alphabet, such
//! as N, X, B and Z, count as gaps. In A3M (by the name of the file) lower-case letters and dots are insertions and are left out; in FASTA
//! lower-case letters are letters and dots are gaps.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::FileOptions;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Categories, Category, Dataset, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::keys::choice;
use crate::memory::make_room;

/// Amino acids that are none of the twenty, or were not determined.
const OTHER_AMINO_ACIDS: &[u8] = b"BJOUXZ";
/// Letters of a nucleotide that was not determined, beside those of DNA and RNA.
const AMBIGUOUS: &[u8] = b"NRYKMSWBDHVX";
/// Share of the letters that must be nucleotides.
const NUCLEOTIDES: f64 = 0.9;
/// Letters from which on growth is compared with the free memory.
const MANY: usize = 1 << 24;

/// One-hot rows, one a sequence.
pub(super) fn read(path: &Path, input: &mut Input<'_>, options: &FileOptions) -> Result<Dataset> {
    let error = |problem: String| Error::file(path, problem);
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let insertions = name.trim_end_matches(".gz").ends_with(".a3m");
    let mut sequences = Sequences::default();
    let (mut line, mut number) = (Vec::new(), 1);
    while input.line(&mut line, number)? {
        let text = line.trim_ascii();
        let added = match text.strip_prefix(b">") {
            Some(_) => sequences.begin(number),
            None => sequences.add(text, insertions),
        };
        added.map_err(|problem| error(format!("line {number}: {problem}")))?;
        number += 1;
    }
    sequences.end().map_err(error)?;
    let Sequences { letters, rows, length, .. } = sequences;
    let length = length.unwrap_or(0);
    let categories = match &options.categories {
        Some(given) if given.columns().len() != length => {
            let expected = given.columns().len();
            return Err(error(format!("has {length} positions, {expected} expected")));
        }
        Some(given) if !given.are_positions() => {
            return Err(error("holds sequences, the training rows are a table".into()));
        }
        Some(given) => given.clone(),
        None => {
            let alphabet = options.alphabet.unwrap_or_else(|| alphabet(&letters));
            Arc::new(categories(alphabet.letters(), length))
        }
    };
    check_file_shape(path, rows, categories.units(), true)?;
    let bits = one_hot(&letters, rows, &categories).map_err(error)?;
    let dataset = Dataset::new(file_name(path), Values::Binary(bits), None, None)?;
    Ok(Dataset { categories: Some(categories), ..dataset })
}

/// Sequences as they are read, in capitals.
#[derive(Default)]
struct Sequences {
    letters: Vec<u8>,
    rows: usize,
    /// Of the first sequence.
    length: Option<usize>,
    /// Where the current one began, in the letters and in the file.
    start: usize,
    line: usize,
}

impl Sequences {
    fn begin(&mut self, line: usize) -> Checked<()> {
        self.end()?;
        (self.start, self.line) = (self.letters.len(), line);
        self.rows += 1;
        Ok(())
    }

    /// Closes the current sequence.
    fn end(&mut self) -> Checked<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let found = self.letters.len() - self.start;
        let expected = *self.length.get_or_insert(found);
        if found != expected {
            return Err(format!(
                "sequence {}, which begins in line {}, has {found} positions, the first has {expected}: align the sequences (in A3M, named .a3m, insertions are left out)",
                self.rows, self.line
            ));
        }
        Ok(())
    }

    fn add(&mut self, text: &[u8], insertions: bool) -> Checked<()> {
        if text.is_empty() || text.starts_with(b";") {
            return Ok(());
        }
        if self.rows == 0 {
            return Err("a sequence without a line that begins with > before it".into());
        }
        let growth = (text.len(), text.len().max(1024));
        make_room(&mut self.letters, growth, (MANY, 1.0, "the sequences to come"))?;
        for &byte in text {
            match byte {
                b'a'..=b'z' | b'.' if insertions => {}
                b'a'..=b'z' | b'A'..=b'Z' => self.letters.push(byte.to_ascii_uppercase()),
                b'-' | b'.' | b'*' | b'?' => self.letters.push(b'-'),
                b' ' | b'\t' => {}
                other => {
                    let shown = String::from_utf8_lossy(&[other]).into_owned();
                    return Err(format!("`{shown}` is no letter and no gap (-)"));
                }
            }
        }
        if self.letters.len() - self.start > MAX_COLUMNS {
            return Err(format!("a sequence has more than {MAX_COLUMNS} positions"));
        }
        Ok(())
    }
}

choice! {
    /// The letters of sequences, beside the gap.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Alphabet {
        /// ACGT.
        Dna = "dna",
        /// ACGU.
        Rna = "rna",
        /// The twenty amino acids.
        Protein = "protein",
    }
}

impl Alphabet {
    /// Its letters, the gap last.
    fn letters(self) -> &'static str {
        match self {
            Self::Dna => "ACGT-",
            Self::Rna => "ACGU-",
            Self::Protein => "ACDEFGHIKLMNPQRSTVWY-",
        }
    }
}

/// The alphabet that these letters show.
fn alphabet(letters: &[u8]) -> Alphabet {
    let count = |set: &[u8]| letters.iter().filter(|letter| set.contains(letter)).count();
    let all = letters.len() - count(b"-");
    let nucleotides = count(b"ACGTU");
    match nucleotides + count(AMBIGUOUS) == all && nucleotides as f64 >= NUCLEOTIDES * all as f64 {
        true if count(b"U") > count(b"T") => Alphabet::Rna,
        true => Alphabet::Dna,
        false => Alphabet::Protein,
    }
}

fn categories(alphabet: &str, length: usize) -> Categories {
    let states: Vec<String> = alphabet.chars().map(String::from).collect();
    let column =
        |i: usize| Category { name: (i + 1).to_string(), states: states.clone(), real: false };
    Categories::new((0..length).map(column).collect())
}

/// Letters that were not determined count as the last state, the gap.
fn one_hot(letters: &[u8], rows: usize, categories: &Categories) -> Checked<BitMatrix> {
    let mut bits = BitMatrix::zeros(rows, categories.units());
    let mut first = 0;
    for (position, column) in categories.columns().iter().enumerate() {
        let mut unit = [None; 256];
        let gap = column.units() - 1;
        let protein = column.states.iter().any(|state| state == "E");
        let unknown = if protein { OTHER_AMINO_ACIDS } else { AMBIGUOUS };
        unknown.iter().for_each(|letter| unit[*letter as usize] = Some(gap));
        for (state, name) in column.states.iter().enumerate() {
            if let [letter] = name.as_bytes() {
                unit[*letter as usize] = Some(state);
            }
        }
        for row in 0..rows {
            let letter = letters[row * categories.columns().len() + position];
            let Some(unit) = unit[letter as usize] else {
                return Err(format!(
                    "sequence {}, position {}: `{}` is none of the letters {}: correct it, give sequences of one kind, or choose data.alphabet (dna, rna, protein)",
                    row + 1,
                    position + 1,
                    char::from(letter),
                    column.states.concat()
                ));
            };
            bits.set(row, first + unit, true);
        }
        first += column.units();
    }
    Ok(bits)
}
