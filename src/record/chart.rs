//! Charts of curves with error bars, as SVG.

use std::path::Path;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::error::{Error, Result};

const SIZE: (u32, u32) = (800, 500);
/// Okabe and Ito's colours, told apart by colour-blind readers too.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 60),
];

/// A chart of one or more series over a common x axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Shown above.
    pub title: String,
    /// Shown below the x axis.
    pub x_label: String,
    /// Shown beside the y axis.
    pub y_label: String,
    /// Logarithmic x axis; points with x <= 0 are left out.
    pub log_x: bool,
    /// Logarithmic y axis; points with y <= 0 are left out.
    pub log_y: bool,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Shown in the legend.
    pub name: String,
    /// (x, y), joined by a line in this order.
    pub points: Vec<(f64, f64)>,
    /// Half lengths of vertical error bars, one a point; empty without.
    pub errors: Vec<f64>,
    /// Marks at the points instead of a line between them.
    pub marks_only: bool,
}

impl Series {
    /// A curve without error bars.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

impl Chart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    /// No finite point to draw.
    pub fn svg(&self) -> Result<String> {
        let shown = |&(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && !(self.log_x && x <= 0.0) && !(self.log_y && y <= 0.0)
        };
        let series: Vec<Series> = self
            .series
            .iter()
            .map(|series| {
                let keep: Vec<bool> = series.points.iter().map(shown).collect();
                let mut kept = series.clone();
                let mut index = 0..;
                kept.points.retain(|_| index.next().is_some_and(|i| keep[i]));
                let mut index = 0..;
                kept.errors.retain(|_| index.next().is_some_and(|i| keep.get(i) == Some(&true)));
                kept
            })
            .collect();
        let points = || series.iter().flat_map(|series| &series.points);
        let x = range(points().map(|p| p.0), self.log_x);
        // Error bars do not widen the range: a single wild one would hide everything else.
        let y = range(points().map(|p| p.1), self.log_y);
        let (Some(x), Some(y)) = (x, y) else {
            return Err(Error::Invalid(format!("chart '{}' has no finite point", self.title)));
        };
        let drawn = match (self.log_x, self.log_y) {
            (false, false) => self.draw(&series, x.0..x.1, y.0..y.1),
            (true, false) => self.draw(&series, (x.0..x.1).log_scale(), y.0..y.1),
            (false, true) => self.draw(&series, x.0..x.1, (y.0..y.1).log_scale()),
            (true, true) => self.draw(&series, (x.0..x.1).log_scale(), (y.0..y.1).log_scale()),
        };
        drawn.map_err(|error| Error::Invalid(format!("chart '{}': {error}", self.title)))
    }

    /// Writes the chart to a file, atomically.
    ///
    /// # Errors
    /// No finite point, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        crate::checkpoint::write_bytes(path, self.svg()?.as_bytes())
    }

    fn draw<X, Y>(
        &self,
        series: &[Series],
        x: X,
        y: Y,
    ) -> std::result::Result<String, Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            area.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&area)
                .caption(&self.title, ("sans-serif", 20))
                .margin(12)
                .x_label_area_size(45)
                .y_label_area_size(70)
                .build_cartesian_2d(x, y)?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .x_desc(&self.x_label)
                .y_desc(&self.y_label)
                .x_label_formatter(&|v| short(*v))
                .y_label_formatter(&|v| short(*v))
                .draw()?;
            for (series, colour) in series.iter().zip(COLOURS.iter().cycle()) {
                let style = colour.stroke_width(2);
                if !series.marks_only {
                    chart.draw_series(LineSeries::new(series.points.iter().copied(), style))?;
                }
                if series.marks_only || series.points.len() <= 30 {
                    let mark = |p: &(f64, f64)| Circle::new(*p, 3, colour.filled());
                    chart.draw_series(series.points.iter().map(mark))?;
                }
                let bars = series.points.iter().zip(&series.errors).filter_map(|(&(x, y), e)| {
                    let low = if self.log_y { (y - e).max(y * 1e-3) } else { y - e };
                    let bar = ErrorBar::new_vertical(x, low, y, y + e, colour.filled(), 8);
                    e.is_finite().then_some(bar)
                });
                chart.draw_series(bars)?;
                // Legend entries are kept by elements drawn last, so that marks and lines share one.
                if !series.name.is_empty() {
                    chart
                        .draw_series(std::iter::once(PathElement::new(Vec::new(), style)))?
                        .label(&series.name)
                        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
                }
            }
            if series.iter().any(|series| !series.name.is_empty()) {
                chart
                    .configure_series_labels()
                    .background_style(WHITE.mix(0.85))
                    .border_style(BLACK.mix(0.3))
                    .draw()?;
            }
            area.present()?;
        }
        Ok(text)
    }
}

/// The smallest range with a little room around all values; `None` without any.
fn range(values: impl Iterator<Item = f64>, log: bool) -> Option<(f64, f64)> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    if log {
        return Some((low / 1.2, high * 1.2));
    }
    let room = if high > low { 0.04 * (high - low) } else { 0.5 * (1.0 + high.abs()) };
    Some((low - room, high + room))
}

/// A number as an axis label.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_is_in_the_picture_and_points_off_a_log_axis_are_left_out() {
        let chart = Chart {
            title: "Errors".into(),
            log_x: true,
            log_y: true,
            series: vec![
                Series::line("first", vec![(0.0, 1.0), (10.0, 2.0), (100.0, f64::NAN)]),
                Series {
                    name: "second".into(),
                    points: vec![(1.0, 5.0), (10.0, 0.5)],
                    errors: vec![0.1, 0.6],
                    marks_only: true,
                },
            ],
            ..Chart::default()
        };
        let svg = chart.svg().unwrap();
        for text in ["<svg", "Errors", "first", "second"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("NaN"));
        assert!(Chart::default().svg().is_err());
    }
}
