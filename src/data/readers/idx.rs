//! IDX, the format of MNIST (LeCun, Cortes, Burges, "The MNIST database", file format section).
//!
//! Big-endian: two zero bytes, the element type (8 = unsigned byte), the number of dimensions, one u32 a dimension,
//! then the data, first dimension outermost.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::FileOptions;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::check_file_shape;
use crate::data::{Dataset, ImageShape, Values};
use crate::error::{Error, Result};

const UNSIGNED_BYTE: u8 = 8;

/// Images [rows, height, width] or a matrix [rows, columns] of unsigned bytes. Bytes that are all 0 or 1 are binary,
/// others are grey levels.
pub(super) fn read(path: &Path, input: &mut Input<'_>) -> Result<Dataset> {
    let dimensions = read_header(path, input)?;
    let (columns, image) = match dimensions[..] {
        [_, columns] => (columns, None),
        // Images that are too large are refused with their bytes.
        [_, height, width] => (height.saturating_mul(width), Some(ImageShape { height, width })),
        _ => {
            return Err(Error::file(
                path,
                format!(
                    "has {} dimension(s), {dimensions:?}; images have 3 and matrices 2 (is this a label file?)",
                    dimensions.len()
                ),
            ));
        }
    };
    let bytes = read_data(path, input, &dimensions)?;
    let packed = bytes.iter().all(|&level| level <= 1);
    check_file_shape(path, dimensions[0], columns, packed)?;
    let values = Values::from_levels(columns, bytes)
        .ok_or_else(|| Error::file(path, "holds no whole rows"))?;
    Dataset::new(file_name(path), values, None, image)
}

/// The dimensions, none of which is 0.
fn read_header(path: &Path, input: &mut Input<'_>) -> Result<Vec<usize>> {
    let error = |problem: String| Err(Error::file(path, problem));
    let magic = input.take(4)?;
    let [0, 0, element, rank] = magic[..] else {
        let magic: Vec<_> = magic.iter().map(|byte| format!("{byte:02x}")).collect();
        return error(format!(
            "is not IDX: it starts with {}, expected 00 00 08 and the number of dimensions",
            magic.join(" ")
        ));
    };
    if element != UNSIGNED_BYTE {
        return error(format!("IDX element type {element:#04x}, expected 0x08 (unsigned byte)"));
    }
    if !(1..=3).contains(&rank) {
        return error(format!("IDX with {rank} dimensions, expected 1 to 3"));
    }
    let length = 4 * usize::from(rank);
    let header = input.take(length as u64)?;
    if header.len() < length {
        return error(format!("ends inside the IDX header, after {} bytes", 4 + header.len()));
    }
    let dimensions: Vec<usize> = header
        .chunks_exact(4)
        .map(|word| word.iter().fold(0, |value, &byte| value << 8 | usize::from(byte)))
        .collect();
    if dimensions.contains(&0) {
        return error(format!("no data: IDX dimensions {dimensions:?}"));
    }
    Ok(dimensions)
}

/// The following bytes, exactly as many as the header says. The header alone never causes an allocation.
fn read_data(path: &Path, input: &mut Input<'_>, dimensions: &[usize]) -> Result<Vec<u8>> {
    let expected = dimensions.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    let too_large = || Error::file(path, format!("IDX dimensions {dimensions:?} are too large"));
    let expected = expected.ok_or_else(too_large)?;
    let bytes = input.take((expected as u64).saturating_add(1))?;
    let problem = match bytes.len() {
        found if found == expected => return Ok(bytes),
        found if found < expected => {
            format!(
                "is truncated: IDX dimensions {dimensions:?} need {expected} bytes of data, {found} found"
            )
        }
        _ => format!(
            "has trailing bytes: IDX dimensions {dimensions:?} need {expected} bytes of data, more follow"
        ),
    };
    Err(Error::file(path, problem))
}

/// The labels in the file beside an image file: `X-images-idx3-ubyte` has `X-labels-idx1-ubyte` (or `.idx3-ubyte`),
/// either of them gzipped or not. `None` if there is no such file.
pub(super) fn labels_beside(
    images: &Path,
    rows: usize,
    options: &FileOptions,
) -> Result<Option<Vec<i64>>> {
    let Some(path) = label_path(images) else { return Ok(None) };
    let mnist = ["train-", "t10k-"].iter().any(|prefix| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    });
    let allowed = options.labels.clone().unwrap_or(if mnist { 0..=9 } else { 0..=255 });
    let labels = read_labels(&path, &mut Input::open(&path)?, &allowed)?;
    if labels.len() != rows {
        return Err(Error::file(
            &path,
            format!("has {} labels for the {rows} rows of {}", labels.len(), images.display()),
        ));
    }
    Ok(Some(labels))
}

fn label_path(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    if !(name.contains("images") && name.contains("idx3")) {
        return None;
    }
    let name = name.replace("images", "labels").replace("idx3", "idx1");
    [format!("{name}.gz"), name]
        .into_iter()
        .map(|name| images.with_file_name(name))
        .find(|path| path.exists())
}

fn read_labels(
    path: &Path,
    input: &mut Input<'_>,
    allowed: &RangeInclusive<i64>,
) -> Result<Vec<i64>> {
    if input.head().is_empty() {
        return Err(Error::file(path, "is empty"));
    }
    let dimensions = read_header(path, input)?;
    if dimensions.len() != 1 {
        return Err(Error::file(
            path,
            format!("has dimensions {dimensions:?}; a label file has one dimension"),
        ));
    }
    let bytes = read_data(path, input, &dimensions)?;
    let labels: Vec<_> = bytes.into_iter().map(i64::from).collect();
    match labels.iter().position(|label| !allowed.contains(label)) {
        Some(row) => Err(Error::file(
            path,
            format!(
                "row {}: label {} is outside {}..{}",
                row + 1,
                labels[row],
                allowed.start(),
                allowed.end()
            ),
        )),
        None => Ok(labels),
    }
}
