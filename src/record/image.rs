//! Pictures of states, weights and matrices, and their PNG form.

use std::fmt;

use super::palette;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};

/// Decades the logarithmic scale of [`Image::heat`] spans below the largest entry.
const DECADES: f64 = 4.0;
/// Pixels per side to which small pictures are enlarged.
pub const SMALLEST_SIDE: usize = 300;
/// Grey between tiles, different from black, white and the ends of the scales.
const GAP: u8 = 128;

/// An 8-bit grey or RGB picture, rows from top to bottom, pixels from left to right.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    height: usize,
    width: usize,
    channels: usize,
    bytes: Vec<u8>,
}

impl Image {
    /// From grey levels, shape [height, width].
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an empty picture or a wrong number of bytes.
    pub fn gray(height: usize, width: usize, bytes: Vec<u8>) -> Result<Self> {
        Self::new(height, width, 1, bytes)
    }

    /// From red, green, blue, shape [height, width, 3].
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an empty picture or a wrong number of bytes.
    pub fn rgb(height: usize, width: usize, bytes: Vec<u8>) -> Result<Self> {
        Self::new(height, width, 3, bytes)
    }

    /// One row of binary states, ones white; unit y * width + x is the pixel (y, x).
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there is no such row or the shape has another number of units.
    pub(crate) fn from_bits(
        bits: &BitMatrix,
        row: usize,
        height: usize,
        width: usize,
    ) -> Result<Self> {
        if row >= bits.rows() {
            return Err(Error::Mismatch(format!(
                "no row {row} in a matrix of {} rows to draw",
                bits.rows()
            )));
        }
        let bytes = (0..bits.columns()).map(|unit| u8::from(bits.get(row, unit)) * 255).collect();
        Self::gray(height, width, bytes)
    }

    /// Signed values, shape [height, width]: blue below zero, white zero, red above; `scale` (positive, such as the
    /// largest |value|) has full colour. NaN is magenta.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the shape has another number of values.
    pub fn diverging(values: &[f32], height: usize, width: usize, scale: f32) -> Result<Self> {
        let colour = |&value: &f32| {
            // If all values are zero (scale 0) everything finite is white.
            palette::diverging(if scale > 0.0 {
                f64::from(value / scale)
            } else {
                0.0 * f64::from(value)
            })
        };
        Self::rgb(height, width, values.iter().flat_map(colour).collect())
    }

    /// A square matrix of values >= 0, shape [n, n], in viridis: dark violet zero, yellow the largest entry. With
    /// `logarithmic` dark violet is 10^-4 of the largest and less. NaN is magenta.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there are not n^2 > 0 values.
    pub fn heat(values: &[f64], n: usize, logarithmic: bool) -> Result<Self> {
        let largest = values.iter().copied().filter(|x| x.is_finite()).fold(0.0, f64::max);
        let colour = |&value: &f64| {
            let share = if largest > 0.0 { value / largest } else { 0.0 * value };
            palette::viridis(match logarithmic {
                true if share <= 0.0 => 0.0,
                true => 1.0 + share.log10() / DECADES,
                false => share,
            })
        };
        Self::rgb(n, n, values.iter().flat_map(colour).collect())
    }

    /// Pictures of one shape in rows of `columns`, `gap` grey pixels between them; unused places stay grey.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no pictures or no columns, [`Error::Mismatch`] for pictures that differ in shape or channels.
    pub fn tile(images: &[Self], columns: usize, gap: usize) -> Result<Self> {
        let (Some(first), true) = (images.first(), columns > 0) else {
            return Err(Error::Invalid("a sheet needs at least one picture and one column".into()));
        };
        let shape = |image: &Self| (image.height, image.width, image.channels);
        if let Some(other) = images.iter().find(|&image| shape(image) != shape(first)) {
            return Err(Error::Mismatch(format!(
                "pictures of one sheet must have one shape, got {first:?} and {other:?}"
            )));
        }
        let columns = columns.min(images.len());
        let rows = images.len().div_ceil(columns);
        let (height, width, channels) = shape(first);
        let sheet_height = rows * (height + gap) - gap;
        let sheet_width = columns * (width + gap) - gap;
        let mut bytes = vec![GAP; sheet_height * sheet_width * channels];
        for (i, image) in images.iter().enumerate() {
            let (top, left) = (i / columns * (height + gap), i % columns * (width + gap));
            for (y, line) in image.bytes.chunks_exact(width * channels).enumerate() {
                let start = ((top + y) * sheet_width + left) * channels;
                bytes[start..start + line.len()].copy_from_slice(line);
            }
        }
        Self::new(sheet_height, sheet_width, channels, bytes)
    }

    /// Every pixel as a square of `factor` x `factor` pixels; factor 0 counts as 1.
    pub fn scale(&self, factor: usize) -> Self {
        let factor = factor.max(1);
        let mut bytes = Vec::with_capacity(self.bytes.len() * factor * factor);
        for line in self.bytes.chunks_exact(self.width * self.channels) {
            let wide: Vec<u8> =
                line.chunks_exact(self.channels).flat_map(|pixel| pixel.repeat(factor)).collect();
            bytes.extend(wide.repeat(factor));
        }
        let (height, width) = (self.height * factor, self.width * factor);
        Self { height, width, channels: self.channels, bytes }
    }

    /// The picture as a PNG file.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is too large for the format.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let problem = |error: &dyn fmt::Display| {
            Error::Encoding(format!("cannot encode {self:?} as PNG: {error}"))
        };
        let width = u32::try_from(self.width).map_err(|error| problem(&error))?;
        let height = u32::try_from(self.height).map_err(|error| problem(&error))?;
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_color(match self.channels {
            1 => png::ColorType::Grayscale,
            _ => png::ColorType::Rgb,
        });
        encoder
            .write_header()
            .and_then(|mut writer| {
                writer.write_image_data(&self.bytes)?;
                writer.finish()
            })
            .map_err(|error| problem(&error))?;
        Ok(out)
    }

    /// Pixels from top to bottom.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels from left to right.
    pub fn width(&self) -> usize {
        self.width
    }

    /// 1 (grey) or 3 (red, green, blue).
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Shape [height, width, channels].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn new(height: usize, width: usize, channels: usize, bytes: Vec<u8>) -> Result<Self> {
        let expected = height.checked_mul(width).and_then(|pixels| pixels.checked_mul(channels));
        if bytes.is_empty() || expected != Some(bytes.len()) {
            return Err(Error::Mismatch(format!(
                "a picture of {height} x {width} pixels cannot be drawn from {} values",
                bytes.len() / channels
            )));
        }
        Ok(Self { height, width, channels, bytes })
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.channels == 1 { "grey" } else { "RGB" };
        write!(f, "{kind} picture of {} x {} pixels", self.height, self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(png_bytes: &[u8]) -> (usize, usize, Vec<u8>) {
        let decoder = png::Decoder::new(std::io::Cursor::new(png_bytes));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        (info.height as usize, info.width as usize, bytes)
    }

    #[test]
    fn png_keeps_shape_and_pixels() {
        let gray = Image::gray(2, 3, vec![0, 1, 2, 253, 254, 255]).unwrap();
        assert_eq!(decode(&gray.to_png().unwrap()), (2, 3, gray.bytes.clone()));
        let rgb = Image::rgb(3, 2, (0..18).collect()).unwrap();
        assert_eq!(decode(&rgb.to_png().unwrap()), (3, 2, rgb.bytes.clone()));
    }

    #[test]
    fn bits_are_laid_out_row_by_row() {
        let bits = BitMatrix::from_fn(2, 6, |row, unit| row == 1 && unit == 2);
        let image = Image::from_bits(&bits, 1, 2, 3).unwrap();
        assert_eq!(image.bytes, [0, 0, 255, 0, 0, 0]);
        assert!(Image::from_bits(&bits, 2, 2, 3).is_err());
        assert!(Image::from_bits(&bits, 0, 2, 2).unwrap_err().to_string().contains("6 values"));
    }

    #[test]
    fn tiles_stand_in_reading_order_with_gaps() {
        let images: Vec<_> = (1..=3).map(|i| Image::gray(1, 2, vec![i, i + 10]).unwrap()).collect();
        let sheet = Image::tile(&images, 2, 1).unwrap();
        assert_eq!((sheet.height, sheet.width), (3, 5));
        assert_eq!(sheet.bytes[..5], [1, 11, GAP, 2, 12]);
        assert_eq!(sheet.bytes[10..], [3, 13, GAP, GAP, GAP]);
        assert!(Image::tile(&[], 2, 1).is_err());
        assert!(Image::tile(&images, 0, 1).is_err());
        let odd = [images[0].clone(), Image::gray(2, 1, vec![0, 0]).unwrap()];
        assert!(Image::tile(&odd, 2, 0).unwrap_err().to_string().contains("1 x 2"));
    }

    #[test]
    fn scaling_repeats_pixels() {
        let image = Image::rgb(1, 2, vec![1, 2, 3, 4, 5, 6]).unwrap().scale(2);
        let line = [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6];
        assert_eq!((image.height, image.width, image.bytes), (2, 4, [line, line].concat()));
    }

    #[test]
    fn weights_are_blue_white_red_about_zero() {
        let image = Image::diverging(&[-2.0, 0.0, 2.0], 1, 3, 2.0).unwrap();
        let pixel = |i: usize| (image.bytes[3 * i], image.bytes[3 * i + 2]);
        assert!(pixel(0).0 < pixel(0).1 && pixel(1) == (255, 255) && pixel(2).0 > pixel(2).1);
        assert_eq!(Image::diverging(&[0.0; 3], 1, 3, 0.0).unwrap().bytes, [255; 9]);
    }

    #[test]
    fn heat_runs_from_zero_to_the_largest_entry() {
        let (dark, bright) = (palette::viridis(0.0), palette::viridis(1.0));
        let matrix = [1.0, 1e-4, 1e-2, 0.0];
        let pixels = |logarithmic| -> Vec<[u8; 3]> {
            let image = Image::heat(&matrix, 2, logarithmic).unwrap();
            image.bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect()
        };
        assert_eq!(pixels(true), [bright, dark, palette::viridis(0.5), dark]);
        assert_eq!(pixels(false)[..2], [bright, dark]);
        assert_eq!(Image::heat(&[0.0; 4], 2, true).unwrap().bytes[..3], dark);
        assert!(Image::heat(&[0.0; 4], 3, true).is_err());
    }
}
