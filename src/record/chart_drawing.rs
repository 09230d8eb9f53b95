//! Charts of curves with error bars and bands, as SVG: alone in a file, or as a part of a page.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::axis::{Axis, range};
use super::chart::{CHARACTER, Chart, Guide, Look, Series};
use super::chart_parts::{Layout, label, legend};
use super::markup::Element;
use super::palette::SERIES;
use crate::error::{Error, Result};

/// Size of a chart in a file; text is 12 units high.
const SIZE: (f64, f64) = (640.0, 380.0);
/// Number of points of a curve above which blocks of points are drawn by their extremes: finer than the resolution.
const MOST_POINTS: usize = 1200;

impl Chart {
    /// The chart as an SVG document, in light colours.
    ///
    /// # Errors
    /// No finite point to draw.
    pub fn svg(&self) -> Result<String> {
        let (width, height) = SIZE;
        let paper = Element::new("rect").class("paper").at("width", width).at("height", height);
        let element = self.draw(SIZE)?;
        let document = Element::new("svg")
            .set("xmlns", "http://www.w3.org/2000/svg")
            .at("width", width)
            .at("height", height)
            .set("viewBox", format!("0 0 {width} {height}"))
            .with(Element::new("style").text(style(false)))
            .with(paper)
            .with(element);
        Ok(document.to_string())
    }

    /// The chart as a part of a page that contains the rules of [`style`].
    ///
    /// # Errors
    /// No finite point to draw.
    pub fn element(&self, (width, height): (f64, f64)) -> Result<Element> {
        let drawn = self.draw((width, height))?;
        Ok(Element::new("svg")
            .set("viewBox", format!("0 0 {width} {height}"))
            .set("role", "img")
            .set("aria-label", format!("{} against {}", self.y_label, self.x_label))
            .with(drawn))
    }

    /// Writes the chart to a file, atomically.
    ///
    /// # Errors
    /// No finite point, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        crate::checkpoint::write_bytes(path, self.svg()?.as_bytes())
    }

    fn draw(&self, size: (f64, f64)) -> Result<Element> {
        let series: Vec<Series> = self.series.iter().map(|series| self.shown(series)).collect();
        let named = series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        let title_height = if self.title.is_empty() { 0.0 } else { 24.0 };
        let (legend, legend_height) = legend(named, size.0, title_height);
        let layout = self.layout(&series, size, title_height + legend_height).ok_or_else(|| {
            Error::Invalid(format!("chart '{}{}' has no finite point", self.title, self.y_label))
        })?;
        let mut group = Element::new("g").class("chart");
        if !self.title.is_empty() {
            group = group.with(label("title", (size.0 / 2.0, 18.0), "middle", &self.title));
        }
        let plot = series.iter().enumerate().map(|(i, series)| layout.series(i, series));
        Ok(group
            .with(legend)
            .with(layout.frame(self, size))
            // A nested picture clips what is outside of it.
            .with(layout.window().all(plot))
            .all(self.guides.iter().map(|guide| layout.guide(guide))))
    }

    /// The points that can be drawn.
    fn shown(&self, series: &Series) -> Series {
        let usable = |&i: &usize| {
            let (x, y) = series.points[i];
            x.is_finite() && y.is_finite() && !(self.log_x && x <= 0.0) && !(self.log_y && y <= 0.0)
        };
        let kept: Vec<usize> = (0..series.points.len()).filter(usable).collect();
        let kept = thinned(kept, |i| series.points[i].1);
        Series {
            points: kept.iter().map(|&i| series.points[i]).collect(),
            errors: kept.iter().map(|&i| series.error(i)).collect(),
            ..series.clone()
        }
    }

    fn layout(&self, series: &[Series], size: (f64, f64), head: f64) -> Option<Layout> {
        let points = || series.iter().flat_map(|series| &series.points);
        let columns = series.iter().any(|series| series.look == Look::Columns);
        let marked = self.guides.iter().filter_map(|guide| match guide {
            Guide::Horizontal(y, _) => Some(*y),
            Guide::Vertical(..) => None,
        });
        // Error bars do not extend the range, because a single large one would hide everything else.
        let zero = columns.then_some(0.0);
        let values = points().map(|p| p.1).chain(zero).chain(marked);
        let x_range = self.x_range.or_else(|| range(points().map(|p| p.0), self.log_x))?;
        let y_range = self.y_range.or_else(|| range(values, self.log_y))?;
        let (top, bottom) = (head + 22.0, size.1 - 38.0);
        let y = Axis::new(y_range, self.log_y, (bottom, top))?;
        let longest = y.ticks().iter().map(|(_, label)| label.len()).max().unwrap_or(1);
        let (left, right) = (10.0 + CHARACTER * longest.max(2) as f64, size.0 - 14.0);
        let x = Axis::new(x_range, self.log_x, (left, right))?;
        points().next()?;
        Some(Layout { x, y, left, right, top, bottom })
    }
}

/// At most [`MOST_POINTS`] of a curve: the first, lowest and highest point of every block.
fn thinned(kept: Vec<usize>, y: impl Fn(usize) -> f64) -> Vec<usize> {
    if kept.len() <= MOST_POINTS {
        return kept;
    }
    let stretch = (3 * kept.len()).div_ceil(MOST_POINTS);
    let mut few = Vec::with_capacity(MOST_POINTS + 1);
    for part in kept.chunks(stretch) {
        let lowest = part.iter().copied().min_by(|a, b| y(*a).total_cmp(&y(*b)));
        let highest = part.iter().copied().max_by(|a, b| y(*a).total_cmp(&y(*b)));
        let chosen = part.first().copied().into_iter().chain(lowest).chain(highest);
        few.extend(chosen.collect::<BTreeSet<usize>>());
    }
    few.extend(kept.last().filter(|last| few.last() != Some(last)).copied().as_slice());
    few
}

/// CSS rules for the colours of charts.
pub fn style(dark: bool) -> String {
    let (ink, faint, paper) =
        if dark { ("#d6d9de", "#3a3f47", "#16181c") } else { ("#333", "#e3e5e8", "#fff") };
    let mut rules = format!(
        ".chart text{{font:12px sans-serif;fill:{ink}}}.chart .title{{font-size:15px}}.paper{{fill:{paper}}}\
         .grid{{stroke:{faint}}}.axis{{stroke:{ink}}}.guide{{stroke:{ink};stroke-dasharray:2 3}}\
         .chart .note{{font-size:11px}}.line{{fill:none;stroke-width:1.5;stroke-linejoin:round}}\
         .dashed{{stroke-dasharray:5 3}}.band{{fill-opacity:.2}}.bar{{stroke-width:1}}"
    );
    for (i, colours) in SERIES.iter().enumerate() {
        let colour = colours[usize::from(dark)];
        // Writing to a String cannot fail.
        let _ = write!(rules, ".c{i}{{stroke:{colour}}}.f{i}{{fill:{colour}}}");
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_is_in_the_picture_and_points_off_a_log_axis_are_left_out() {
        let chart = Chart {
            title: "Errors & <more>".into(),
            log_x: true,
            log_y: true,
            series: vec![
                Series::line("first", vec![(0.0, 1.0), (10.0, 2.0), (100.0, f64::NAN)]),
                Series {
                    name: "second".into(),
                    points: vec![(1.0, 5.0), (10.0, 0.5)],
                    errors: vec![0.1, 0.6],
                    look: Look::Marks,
                    colour: None,
                },
            ],
            guides: vec![Guide::Vertical(5.0, "best".into())],
            ..Chart::default()
        };
        let svg = chart.svg().unwrap();
        for text in ["<svg", "Errors &amp; &lt;more&gt;", "first", "second", "best"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // One point of the first series, two of the second, and a mark in the legend for it.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(Chart::default().svg().is_err());
    }

    #[test]
    fn long_curves_keep_their_extremes() {
        let y = |i: usize| if i == 5000 { 9.0 } else { (i % 7) as f64 };
        let few = thinned((0..100_000).collect(), y);
        assert!(few.len() <= MOST_POINTS + 1 && few.contains(&5000));
        assert!(few[0] == 0 && few[few.len() - 1] == 99_999);
        assert!(few.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_band_goes_there_and_back() {
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        let series = Series::line("x", points).errors(vec![0.5, f64::NAN]).look(Look::Band);
        let chart = Chart { series: vec![series], y_range: Some((-1.0, 2.0)), ..Chart::default() };
        let svg = chart.svg().unwrap();
        let band = svg.split("<polygon").nth(1).unwrap().split("points=\"").nth(1).unwrap();
        assert_eq!(band.split('"').next().unwrap().split(' ').count(), 4);
    }
}
