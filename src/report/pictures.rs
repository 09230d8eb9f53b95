//! The model beside its data: filters, samples with the rows nearest to them, moments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::diagnosis::Diagnosis;
use super::moments::{moments, scatter, unit_means};
use super::page::{Here, Section};
use super::words;
use crate::data::{Groups, ImageShape, Neighbour, nearest_rows};
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::MOST_ERRORS;
use crate::numerics::statistics::mean;
use crate::record::Image;
use crate::record::markup::Element;
use crate::training::Trainer;
use crate::units::Variables;

/// Filters and samples shown.
const FILTERS: usize = 100;
/// Pairs of a sample and a row beside each other.
const PAIRS_A_LINE: usize = 4;
const SAMPLES: usize = 20;
/// The same in letters or words.
const LINES: usize = 8;
/// Pixels per side to which small pictures are enlarged, and most pixels of a picture.
const SIDE: usize = 400;
/// Height of a row that is not a picture.
const STRIPE: usize = 6;
/// Training rows that are searched for the nearest.
const SEARCHED: usize = 20_000;
/// Title of the figure of groups of rows.
pub const SHARES: &str = "Shares of groups of similar rows";
/// Training rows that are put into groups.
const GROUPED: usize = 5000;

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
        let here = filter_words(&diagnosis.parameters);
        section = section.figure(
            "Filters: weights of single hidden units, blue negative, red positive",
            filters(&diagnosis.parameters, shape).into_iter().collect(),
            ("distinct local or global patterns, none of them noise alone", here),
        );
    }
    let samples = match &diagnosis.samples {
        Ok(samples) => samples,
        Err(problem) => return section.paragraph(format!("No samples could be drawn: {problem}.")),
    };
    if diagnosis.parameters.variables.has_reals() {
        section = section.paragraph("ztrack sample writes samples as a table.");
    } else {
        section = rows_beside(section, trainer, diagnosis, samples);
    }
    moments(section, trainer, diagnosis, samples)
}

/// Samples with the rows nearest to them, and groups of similar rows.
fn rows_beside(
    mut section: Section,
    trainer: &Trainer,
    diagnosis: &Diagnosis,
    samples: &BitMatrix,
) -> Section {
    let (rows, variables) = (trainer.train_rows(), &diagnosis.parameters.variables);
    let searched = rows.select(0..rows.rows().min(SEARCHED));
    let near = nearest_rows(samples, &searched, variables).unwrap_or_default();
    let shape = trainer.image();
    let names = trainer.trained_on().names(variables);
    let place = if shape.is_some() { "to its right" } else { "below" };
    let title = format!("Samples of the model, each with the nearest training row {place}");
    let copies = (
        "samples look like data and are not copies of rows",
        near_words(&near, &searched, trainer, variables),
    );
    let shown = match names.filter(|_| shape.is_none()) {
        Some(names) => Ok(words::pairs(samples, rows, &near[..near.len().min(LINES)], names)),
        None => pairs(samples, rows, &near, shape),
    };
    section = match names {
        Some(_) => section.broad(&title, shown.unwrap_or_default(), copies),
        None => section.figure(&title, shown.into_iter().collect(), copies),
    };
    let means = |rows| unit_means(rows, variables);
    if let Some(names) = names.filter(|names| names.are_positions()) {
        let (logo, found) = words::logos(&means(&diagnosis.states), &means(rows), names);
        let healthy = "both logos have the same letters at the same heights";
        section = section.broad(
            "Letters of states of the model, above, and of training rows",
            logo,
            (healthy, found),
        );
    }
    let groups = Groups::of(&rows.spread(GROUPED), variables, trainer.config().seed);
    let shares = (groups.shares(rows), groups.shares(samples));
    section.figure(
        SHARES,
        scatter(["share of the training rows", "share of the samples"], &shares.0, &shares.1),
        (
            "points on the diagonal, scattered by the numbers of samples and rows alone: the model makes each kind of row as often as the data have it",
            share_words([&shares.1, &shares.0], [samples.rows(), rows.rows()]),
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

/// Distances of samples from training rows, and of validation rows.
fn near_words(
    near: &[Neighbour],
    rows: &BitMatrix,
    trainer: &Trainer,
    variables: &Variables,
) -> String {
    let average = |near: &[Neighbour]| {
        mean(&near.iter().map(|it| f64::from(it.distance)).collect::<Vec<_>>())
    };
    let copies = near.iter().filter(|it| it.distance == 0).count();
    let what = if variables.is_bits() { "units" } else { "variables" };
    let mut words = format!(
        "{} samples differ from their nearest training row in {:.1} of {} {what} on average, {copies} are equal to one",
        near.len(),
        average(near),
        variables.of(rows.columns()).count()
    );
    if let Some(validation) = trainer.validation_rows() {
        let some = validation.select(0..validation.rows().min(near.len()));
        let theirs = nearest_rows(&some, rows, variables).unwrap_or_default();
        words += &format!("; validation rows differ in {:.1}", average(&theirs));
    }
    words
}

fn pairs(
    samples: &BitMatrix,
    rows: &BitMatrix,
    near: &[Neighbour],
    shape: Option<ImageShape>,
) -> Result<Element> {
    let (height, width) = shape.map_or((1, samples.columns()), |s| (s.height, s.width));
    let columns = if shape.is_some() { PAIRS_A_LINE } else { 1 };
    let mut images = Vec::new();
    for (sample, it) in near.iter().enumerate().take(SAMPLES) {
        let pair = vec![
            Image::from_bits(samples, sample, height, width)?,
            Image::from_bits(rows, it.row, height, width)?,
        ];
        let (pair, across) = match shape {
            Some(_) => (enlarged(pair, 2 * columns), 2),
            // Long rows are shown above each other.
            None => (pair.iter().map(|one| one.scale(STRIPE)).collect(), 1),
        };
        images.push(Image::tile(&pair, across, 2)?);
    }
    embedded(&Image::tile(&images, columns, 10)?, "samples and nearest rows")
}

/// The group whose share of the samples differs most from that of the rows, in standard errors of the difference; `numbers` of both.
fn share_words([samples, rows]: [&[f64]; 2], numbers: [usize; 2]) -> Here {
    let n = numbers.map(|n| 1.0 / n as f64).iter().sum::<f64>().recip();
    let errors = |(ours, theirs): &(&f64, &f64)| {
        (*ours - *theirs).abs() / (theirs.max(1.0 / n) * (1.0 - **theirs) / n).sqrt()
    };
    let pairs = samples.iter().zip(rows);
    let Some(worst) = pairs.max_by(|a, b| errors(a).total_cmp(&errors(b))) else {
        return String::new().into();
    };
    let words = format!(
        "of {} groups the largest difference has {:.1} % of the samples and {:.1} % of the rows, {:.1} standard errors of the difference between {} independent samples and {} rows",
        rows.len(),
        100.0 * worst.0,
        100.0 * worst.1,
        errors(&worst),
        numbers[0],
        numbers[1]
    );
    let twice = (worst.0 / worst.1).ln().abs() > 2f64.ln();
    Here::judged(words, errors(&worst) <= MOST_ERRORS || !twice)
}
