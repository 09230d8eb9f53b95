//! The model beside its data: filters, samples with the rows nearest to them, moments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::curves::picture;
use super::diagnosis::Diagnosis;
use super::page::Section;
use crate::data::ImageShape;
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::statistics::{correlation, mean};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, for_each_set_bit};
use crate::record::markup::Element;
use crate::record::{Chart, Image, Look, Series};
use crate::training::Trainer;

/// Filters and samples shown.
const FILTERS: usize = 100;
/// Pairs of a sample and a row beside each other.
const PAIRS_A_LINE: usize = 4;
const SAMPLES: usize = 20;
/// Pixels per side to which small pictures are enlarged, and most pixels of a picture.
const SIDE: usize = 400;
/// Height of a row that is not a picture.
const STRIPE: usize = 6;
/// Training rows that are searched for the nearest.
const SEARCHED: usize = 20_000;
/// Pairs of units whose joint means are compared.
const PAIRS: usize = 400;

/// A picture as a part of the page.
pub fn embedded(image: &Image, name: &str) -> Result<Element> {
    let png = STANDARD.encode(image.to_png()?);
    Ok(Element::new("img")
        .class("picture")
        .set("alt", name)
        .set("src", format!("data:image/png;base64,{png}")))
}

/// Filters, samples and moments.
pub fn section(trainer: &Trainer, diagnosis: &Diagnosis) -> Section {
    let mut section = Section::new("Model and data");
    if let Some(shape) = trainer.image() {
        section = section.figure(
            "Filters: weights of single hidden units, blue negative, red positive",
            filters(&diagnosis.parameters, shape).into_iter().collect(),
            (
                "distinct local or global patterns, none of them noise alone",
                filter_words(&diagnosis.parameters),
            ),
        );
    }
    let samples = match &diagnosis.samples {
        Ok(samples) => samples,
        Err(problem) => return section.paragraph(format!("No samples could be drawn: {problem}.")),
    };
    let rows = trainer.train_rows();
    let near = Nearest::of(samples, rows);
    let shape = trainer.image();
    section
        .figure(
            if shape.is_some() {
                "Samples of the model, each with the nearest training row to its right"
            } else {
                "Samples of the model, each with the nearest training row below"
            },
            pairs(samples, rows, &near, shape).into_iter().collect(),
            ("samples look like data and are not copies of rows", near.words(trainer)),
        )
        .figure(
            "Means of single units",
            picture(&means(samples, rows)),
            ("points on the diagonal", moment_words(&unit_means(samples), &unit_means(rows))),
        )
        .figure(
            "Covariances of pairs of units",
            picture(&covariances(samples, rows)),
            (
                "points along the diagonal, scattered by the number of samples alone",
                covariance_words(samples, rows),
            ),
        )
}

fn filters(parameters: &Parameters, shape: ImageShape) -> Result<Element> {
    let transposed = parameters.transposed();
    let mut images = Vec::new();
    for column in transposed.weights.chunks_exact(transposed.n_hidden).take(FILTERS) {
        let scale = column.iter().fold(f32::MIN_POSITIVE, |max, w| max.max(w.abs()));
        images.push(Image::diverging(column, shape.height, shape.width, scale)?);
    }
    let columns = (images.len() as f64).sqrt().ceil() as usize;
    embedded(&Image::tile(&enlarged(images, columns), columns, 2)?, "weight filters")
}

/// Every picture as large as possible with so many side by side.
fn enlarged(images: Vec<Image>, columns: usize) -> Vec<Image> {
    let factor = |image: &Image| (SIDE / (columns * image.width()).max(1)).clamp(1, 12);
    images.iter().map(|image| image.scale(factor(image))).collect()
}

/// Euclidean norms of the filters.
fn filter_words(parameters: &Parameters) -> String {
    let transposed = parameters.transposed();
    let norm = |column: &[f32]| column.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>().sqrt();
    let mut norms: Vec<f64> =
        transposed.weights.chunks_exact(transposed.n_hidden).map(norm).collect();
    norms.sort_by(f64::total_cmp);
    let (median, largest) = (norms[norms.len() / 2], norms[norms.len() - 1]);
    let idle = norms.iter().filter(|norm| **norm < 0.1 * median).count();
    format!(
        "norms have median {median:.2} and largest {largest:.2}; {idle} of {} hidden units are idle, below a tenth of the median",
        norms.len()
    )
}

/// The training row nearest to each sample, with the number of units that differ.
struct Nearest(Vec<(usize, u32)>);

fn distance(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

impl Nearest {
    fn of(samples: &BitMatrix, rows: &BitMatrix) -> Self {
        let searched = rows.rows().min(SEARCHED);
        let nearest = |sample: usize| {
            let far = |row: usize| (row, distance(samples.row(sample), rows.row(row)));
            (0..searched).map(far).min_by_key(|(_, distance)| *distance)
        };
        Self((0..samples.rows()).filter_map(nearest).collect())
    }

    fn mean(&self) -> f64 {
        mean(&self.0.iter().map(|(_, distance)| f64::from(*distance)).collect::<Vec<_>>())
    }

    fn words(&self, trainer: &Trainer) -> String {
        let copies = self.0.iter().filter(|(_, distance)| *distance == 0).count();
        let mut words = format!(
            "{} samples differ from their nearest training row in {:.1} of {} units on average, {copies} are equal to one",
            self.0.len(),
            self.mean(),
            trainer.train_rows().columns()
        );
        if let Some(validation) = trainer.validation_rows() {
            let some = validation.select(0..validation.rows().min(self.0.len()));
            let theirs = Self::of(&some, trainer.train_rows()).mean();
            words += &format!("; validation rows differ in {theirs:.1}");
        }
        words
    }
}

fn pairs(
    samples: &BitMatrix,
    rows: &BitMatrix,
    near: &Nearest,
    shape: Option<ImageShape>,
) -> Result<Element> {
    let (height, width) = shape.map_or((1, samples.columns()), |s| (s.height, s.width));
    let columns = if shape.is_some() { PAIRS_A_LINE } else { 1 };
    let mut images = Vec::new();
    for (sample, (row, _)) in near.0.iter().enumerate().take(SAMPLES) {
        let pair = vec![
            Image::from_bits(samples, sample, height, width)?,
            Image::from_bits(rows, *row, height, width)?,
        ];
        let pair = match shape {
            Some(_) => Image::tile(&enlarged(pair, 2 * columns), 2, 2)?,
            // Long rows are shown above each other.
            None => {
                let stripes: Vec<Image> = pair.iter().map(|one| one.scale(STRIPE)).collect();
                Image::tile(&stripes, 1, 2)?
            }
        };
        images.push(pair);
    }
    embedded(&Image::tile(&images, columns, 10)?, "samples and nearest rows")
}

/// Mean of each unit.
fn unit_means(rows: &BitMatrix) -> Vec<f64> {
    let n = rows.rows() as f64;
    rows.column_counts().into_iter().map(|count| count as f64 / n).collect()
}

fn scatter(label: [&str; 2], points: Vec<(f64, f64)>) -> Chart {
    let ends = points.iter().flat_map(|(x, y)| [*x, *y]);
    let (low, high) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let diagonal = Series::line("", vec![(low, low), (high, high)]).look(Look::Dashed).colour(6);
    Chart {
        x_label: label[0].into(),
        y_label: label[1].into(),
        series: vec![diagonal, Series::line("", points).look(Look::Marks).colour(0)],
        ..Chart::default()
    }
}

fn means(samples: &BitMatrix, rows: &BitMatrix) -> Chart {
    let points = unit_means(rows).into_iter().zip(unit_means(samples)).collect();
    scatter(["mean over training rows", "mean over samples"], points)
}

fn moment_words(samples: &[f64], rows: &[f64]) -> String {
    let largest = samples.iter().zip(rows).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    format!("correlation {:.3}, largest difference {largest:.3}", correlation(samples, rows))
}

/// Covariances of the same randomly chosen pairs of units in samples and rows.
fn pair_covariances(samples: &BitMatrix, rows: &BitMatrix) -> (Vec<f64>, Vec<f64>) {
    let columns = rows.columns();
    let mut stream = Streams::new(0, Purpose::Choice, 0).row(0);
    let mut unit = || (stream.uniform() * columns as f64) as usize;
    let pairs: Vec<(usize, usize)> =
        (0..PAIRS).map(|_| (unit(), unit())).filter(|(i, j)| i != j).collect();
    let of = |rows: &BitMatrix| {
        let means = unit_means(rows);
        let mut joint = vec![0.0; pairs.len()];
        for row in 0..rows.rows() {
            let mut on = vec![false; columns];
            for_each_set_bit(rows.row(row), |i| on[i] = true);
            for (sum, (i, j)) in joint.iter_mut().zip(&pairs) {
                *sum += f64::from(u8::from(on[*i] && on[*j]));
            }
        }
        let n = rows.rows() as f64;
        let covariance = |(sum, (i, j)): (&f64, &(usize, usize))| sum / n - means[*i] * means[*j];
        joint.iter().zip(&pairs).map(covariance).collect()
    };
    (of(samples), of(&rows.select(0..rows.rows().min(SEARCHED))))
}

fn covariances(samples: &BitMatrix, rows: &BitMatrix) -> Chart {
    let (ours, theirs) = pair_covariances(samples, rows);
    let points = theirs.into_iter().zip(ours).collect();
    scatter(["covariance over training rows", "covariance over samples"], points)
}

fn covariance_words(samples: &BitMatrix, rows: &BitMatrix) -> String {
    let (ours, theirs) = pair_covariances(samples, rows);
    moment_words(&ours, &theirs) + &format!(", {} samples", samples.rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_row_is_found() {
        let rows = BitMatrix::from_fn(4, 70, |row, unit| unit % 4 == row);
        let samples = BitMatrix::from_fn(2, 70, |row, unit| unit % 4 == row + 1 || unit == 69);
        let near = Nearest::of(&samples, &rows);
        assert_eq!(near.0, [(1, 0), (2, 1)]);
        assert_eq!(near.mean(), 0.5);
    }

    #[test]
    fn covariances_of_equal_rows_are_equal() {
        let rows = BitMatrix::from_fn(50, 12, |row, unit| (row * 7 + unit * unit) % 5 < 2);
        let (ours, theirs) = pair_covariances(&rows, &rows);
        assert!(ours == theirs && ours.iter().any(|c| c.abs() > 0.05));
        assert!(
            moment_words(&ours, &theirs).starts_with("correlation 1.000, largest difference 0.000")
        );
    }
}
