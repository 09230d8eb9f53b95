//! Samples in the words of the data: cells of tables, letters of sequences, and sequence logos.

use std::ffi::OsStr;

use super::page::{cell, table};
use crate::data::{Categories, Category, Neighbour};
use crate::engine::BitMatrix;
use crate::numerics::statistics::correlation;
use crate::record::markup::{Element, length};

/// Columns of a table, and positions of sequences, that are shown.
const COLUMNS: usize = 40;
const POSITIONS: usize = 240;
/// Positions in a line.
const LINE: usize = 80;
/// Width of a position, height of a logo and space below it.
const WIDTH: f64 = 11.0;
const HEIGHT: f64 = 56.0;
const SPACE: f64 = 8.0;
/// Font size, and the height of a capital letter at this size.
const SIZE: f64 = 14.0;
const CAPITAL: f64 = 10.0;
/// Letters that are less high are left out.
const LEAST: f64 = 0.5;
/// Letters by colour: nucleotides; amino acids by their side chains (polar, basic, acidic); all others have the last colour.
const NUCLEOTIDES: [(&str, usize); 4] = [("A", 2), ("C", 0), ("G", 4), ("TU", 1)];
const AMINO_ACIDS: [(&str, usize); 3] = [("GSTYCQN", 2), ("KRH", 0), ("DE", 1)];
const OTHERS: usize = 6;

/// How often.
pub fn times(n: usize) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// An argument quoted for a shell, if needed.
pub fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Samples, each with its nearest row below.
pub fn pairs(
    samples: &BitMatrix,
    rows: &BitMatrix,
    near: &[Neighbour],
    names: &Categories,
) -> Element {
    let lines = near.iter().enumerate().flat_map(|(sample, it)| {
        [
            (format!("sample {}", sample + 1), names.cells(samples.row(sample))),
            (format!("row, {} differ", it.distance), names.cells(rows.row(it.row))),
        ]
    });
    if names.are_positions() {
        let line = |(name, cells): (String, Vec<&str>)| {
            let shown: String = cells.into_iter().take(POSITIONS).collect();
            format!("{name:<18}{shown}\n")
        };
        return Element::new("pre").text(lines.map(line).collect::<String>());
    }
    let columns = names.columns().iter().take(COLUMNS).map(|column| column.name.as_str());
    let head: Vec<&str> = std::iter::once("").chain(columns).collect();
    let line = |(name, cells): (String, Vec<&str>)| {
        let cells = cells.into_iter().take(COLUMNS).map(cell);
        std::iter::once(cell(name)).chain(cells).collect()
    };
    table(&head, lines.map(line).collect())
}

/// Sequence logos of a model, above, and of training rows, from the frequencies of all states; and how far they agree.
pub fn logos(model: &[f64], rows: &[f64], names: &Categories) -> (Element, String) {
    let shown = names.columns().len().min(POSITIONS);
    let lines = shown.div_ceil(LINE);
    let line_height = 2.0 * (HEIGHT + SPACE) + SPACE;
    let (width, height) = (LINE.min(shown) as f64 * WIDTH, lines as f64 * line_height);
    let mut picture =
        Element::new("svg").set("viewBox", format!("0 0 {} {}", length(width), length(height)));
    let [ours, theirs] = [model, rows].map(|frequencies| stacks(frequencies, names));
    let bits = |stacks: &[Stack]| stacks.iter().map(|stack| stack.bits).collect::<Vec<_>>();
    let (our_bits, their_bits) = (bits(&ours), bits(&theirs));
    let most = our_bits.iter().chain(&their_bits).fold(f64::MIN_POSITIVE, |most, x| x.max(most));
    for (part, stacks) in [ours, theirs].iter().enumerate() {
        for (position, (stack, column)) in
            stacks.iter().zip(names.columns()).take(shown).enumerate()
        {
            let x = ((position % LINE) as f64 + 0.5) * WIDTH;
            let line = (position / LINE) as f64 * line_height;
            let bottom = line + (part + 1) as f64 * (HEIGHT + SPACE) - SPACE;
            picture = picture.all(stack.letters(&column.states, HEIGHT / most, x, bottom));
        }
    }
    let words = format!(
        "information of {:.1} bits in the model and {:.1} in the rows, correlation over positions {:.3}; the highest position{} has {most:.2} bits",
        our_bits.iter().sum::<f64>(),
        their_bits.iter().sum::<f64>(),
        correlation(&our_bits, &their_bits),
        match names.columns().len() {
            all if shown < all => format!(" of {all}, of which {shown} are shown,"),
            _ => String::new(),
        },
    );
    (picture, words)
}

fn stacks(frequencies: &[f64], names: &Categories) -> Vec<Stack> {
    let mut rest = frequencies;
    let stack = |column: &Category| {
        let (own, others) = rest.split_at(column.states.len());
        rest = others;
        Stack::of(&own[..own.len() - 1])
    };
    names.columns().iter().map(stack).collect()
}

/// The letters of a position, without the gap: heights are shares of the information content (Schneider and Stephens 1990, without their
/// correction for few sequences).
struct Stack {
    /// Information content: log2 of the number of letters minus the entropy of those that are there, times the fraction that is no gap.
    bits: f64,
    /// Index and share of the letters that are there, the rarest first.
    states: Vec<(usize, f64)>,
}

impl Stack {
    fn of(frequencies: &[f64]) -> Self {
        let letters = frequencies.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let shares = frequencies.iter().map(|p| p / letters).enumerate();
        let mut states: Vec<(usize, f64)> = shares.filter(|(_, share)| *share > 0.0).collect();
        states.sort_by(|a, b| a.1.total_cmp(&b.1));
        let entropy: f64 = states.iter().map(|(_, share)| -share * share.log2()).sum();
        let most = (frequencies.len() as f64).log2();
        Self { bits: letters * (most - entropy).max(0.0), states }
    }

    /// Letters in units of `scale` a bit.
    fn letters(&self, names: &[String], scale: f64, x: f64, mut bottom: f64) -> Vec<Element> {
        let colours = if names.len() == 5 { &NUCLEOTIDES[..] } else { &AMINO_ACIDS };
        let mut letters = Vec::new();
        for (state, share) in &self.states {
            let height = scale * share * self.bits;
            if height < LEAST {
                continue;
            }
            let name = &names[*state];
            let colour = colours.iter().find(|(letters, _)| letters.contains(name.as_str()));
            let place =
                format!("translate({} {:.1}) scale(1 {:.3})", length(x), bottom, height / CAPITAL);
            letters.push(
                Element::new("text")
                    .class(&format!("f{}", colour.map_or(OTHERS, |(_, colour)| *colour)))
                    .set("style", format!("font:bold {SIZE}px monospace"))
                    .set("text-anchor", "middle")
                    .set("transform", place)
                    .text(name),
            );
            bottom -= height;
        }
        letters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certain_letter_is_as_high_as_the_logo_and_even_ones_are_not_there() {
        let certain = Stack::of(&[0.0, 1.0, 0.0, 0.0]);
        assert_eq!(certain.bits, 2.0);
        let names: Vec<String> = "ACG-".chars().map(String::from).collect();
        let letters = certain.letters(&names, 30.0, 5.0, 60.0);
        assert_eq!(letters.len(), 1);
        assert!(letters[0].to_string().contains(&format!("scale(1 {:.3})", 60.0 / CAPITAL)));
        assert!(Stack::of(&[0.25; 4]).letters(&names, 30.0, 5.0, 60.0).is_empty());
        // .5 and .5 are one bit, of which each letter has half.
        let even = Stack::of(&[0.5, 0.5, 0.0, 0.0]);
        assert!((even.bits - 1.0).abs() < 1e-12);
        // A tenth of the sequences has a letter, always the same.
        let rare = Stack::of(&[0.1, 0.0, 0.0, 0.0]).letters(&names, 30.0, 5.0, 60.0);
        assert!(rare[0].to_string().contains(&format!("scale(1 {:.3})", 6.0 / CAPITAL)));
        assert!(Stack::of(&[0.0; 4]).letters(&names, 30.0, 5.0, 60.0).is_empty());
        assert_eq!(even.letters(&names, 30.0, 5.0, 60.0).len(), 2);
    }
}
