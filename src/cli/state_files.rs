//! States of visible units as files: tables, sequences, arrays and sheets of pictures.

use anyhow::Result;

use crate::data::{Categories, ImageShape, Neighbour, npy_header};
use crate::engine::BitMatrix;
use crate::record::{Image, SMALLEST_SIDE};
use crate::units::Variables;

/// Sequences in the letters of a model of them.
pub fn fasta(rows: &BitMatrix, categories: Option<&Categories>) -> Vec<u8> {
    let letters =
        |row: usize| categories.map_or(String::new(), |it| it.cells(rows.row(row)).concat());
    let sequence = |row: usize| format!(">sample_{}\n{}\n", row + 1, letters(row));
    (0..rows.rows()).map(sequence).collect::<String>().into_bytes()
}

/// A table: the states of the model's variables by their names where it has them, else zeros and ones, or -1 and 1, below the `titles` of
/// the columns, if there are any.
pub fn csv(
    rows: &BitMatrix,
    (categories, titles): (Option<&Categories>, &[String]),
    variables: &Variables,
) -> Vec<u8> {
    let off = if variables.is_plus_minus() { "-1" } else { "0" };
    let mut text = String::new();
    let mut line = |cells: Vec<&str>| {
        text += &cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
        text.push('\n');
    };
    if let Some(categories) = categories {
        line(categories.columns().iter().map(|column| column.name.as_str()).collect());
    } else if !titles.is_empty() {
        line(titles.iter().map(String::as_str).collect());
    }
    for row in 0..rows.rows() {
        match categories {
            Some(categories) => {
                let cells = categories.all_cells(rows.row(row), variables);
                line(cells.iter().map(|cell| &**cell).collect());
            }
            None if variables.has_reals() => {
                let cells = variables.cells(rows.row(row), rows.columns());
                let texts: Vec<String> =
                    cells.iter().map(|cell| (*cell as f32).to_string()).collect();
                line(texts.iter().map(String::as_str).collect());
            }
            None => {
                let cell = |i| if rows.get(row, i) { "1" } else { off };
                line((0..rows.columns()).map(cell).collect());
            }
        }
    }
    text.into_bytes()
}

/// A cell of a table: a line that begins with # would be a comment, and the separator is found from the first lines.
pub fn quoted(cell: &str) -> String {
    match cell.contains([',', ';', '\t', '#', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_string(),
    }
}

/// Zeros and ones, uint8, or -1 and 1, int8; float64 in the table's own units where a variable is real.
pub fn npy(rows: &BitMatrix, variables: &Variables) -> Vec<u8> {
    let (n, columns) = (rows.rows(), rows.columns());
    if variables.has_reals() {
        let cells = (0..n).map(|i| variables.cells(rows.row(i), columns));
        let cells: Vec<f64> = cells.flatten().collect();
        let mut bytes = npy_header("<f8", &[n, cells.len() / n.max(1)]);
        bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        return bytes;
    }
    let (element, off) = if variables.is_plus_minus() { ("|i1", -1i8) } else { ("|u1", 0) };
    let mut bytes = npy_header(element, &[n, columns]);
    let cells = (0..n).flat_map(|i| (0..columns).map(move |j| rows.get(i, j)));
    bytes.extend(cells.map(|on| if on { 1 } else { off as u8 }));
    bytes
}

/// Samples, each with the nearest training row to its right if known.
pub fn sheet(
    samples: &BitMatrix,
    nearest: Option<&(&BitMatrix, Vec<Neighbour>)>,
    ImageShape { height, width }: ImageShape,
) -> Result<Vec<u8>> {
    let picture = |bits: &BitMatrix, row| Image::from_bits(bits, row, height, width);
    let image = |sample| match nearest {
        None => picture(samples, sample),
        Some((rows, nearest)) => {
            Image::tile(&[picture(samples, sample)?, picture(rows, nearest[sample].row)?], 2, 0)
        }
    };
    let images = (0..samples.rows()).map(image).collect::<crate::Result<Vec<_>>>()?;
    let root = images.len().isqrt();
    let square = root + usize::from(root.pow(2) < images.len());
    // A pair is twice as wide.
    let columns = if nearest.is_some() { square.div_ceil(2) } else { square };
    let sheet = Image::tile(&images, columns, 1)?;
    let factor = SMALLEST_SIDE.div_ceil(sheet.width().max(sheet.height())).clamp(1, 8);
    Ok(sheet.scale(factor).to_png()?)
}
