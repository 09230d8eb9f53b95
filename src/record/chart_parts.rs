//! The parts of a chart: axes, curves, bands, marks, columns, guides, legend.

use std::fmt::Write as _;

use super::axis::Axis;
use super::chart::{CHARACTER, Chart, Guide, Look, Series};
use super::markup::{Element, length};
use super::palette::SERIES;

/// Positions of the parts of a chart.
pub struct Layout {
    pub x: Axis,
    pub y: Axis,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Layout {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    pub fn window(&self) -> Element {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        let (l, t, w, h) = (length(self.left), length(self.top), length(width), length(height));
        Element::new("svg")
            .set("x", &l)
            .set("y", &t)
            .set("width", &w)
            .set("height", &h)
            .set("viewBox", format!("{l} {t} {w} {h}"))
    }

    /// Axes, numbers and their names.
    pub fn frame(&self, chart: &Chart, size: (f64, f64)) -> Element {
        let Self { left, right, top, bottom, .. } = *self;
        let mut group = Element::new("g");
        for (value, text) in self.y.ticks() {
            let y = self.y.place(value);
            group = group.all([
                line("grid", (left, y), (right, y)),
                label("tick", (left - 6.0, y + 4.0), "end", &text),
            ]);
        }
        for (value, text) in self.x.ticks() {
            let x = self.x.place(value);
            group = group.all([
                line("axis", (x, bottom), (x, bottom + 4.0)),
                label("tick", (x, bottom + 17.0), "middle", &text),
            ]);
        }
        group
            .with(line("axis", (left, bottom), (right, bottom)))
            .with(label("name", ((left + right) / 2.0, size.1 - 5.0), "middle", &chart.x_label))
            .with(label("name", (4.0, top - 9.0), "start", &chart.y_label))
    }

    pub(crate) fn guide(&self, guide: &Guide) -> Element {
        let Self { left, right, top, bottom, .. } = *self;
        let group = Element::new("g");
        match guide {
            Guide::Horizontal(y, _) if !self.y.holds(*y) => group,
            Guide::Vertical(x, _) if !self.x.holds(*x) => group,
            Guide::Horizontal(y, text) => {
                let y = self.y.place(*y);
                group.all([
                    line("guide", (left, y), (right, y)),
                    label("note", (right - 2.0, y - 4.0), "end", text),
                ])
            }
            Guide::Vertical(x, text) => {
                let x = self.x.place(*x);
                // Labels are on the right where they fit.
                let fits = x + 4.0 + CHARACTER * text.chars().count() as f64 <= right;
                let (at, anchor) = if fits { (x + 4.0, "start") } else { (x - 4.0, "end") };
                group.all([
                    line("guide", (x, top), (x, bottom)),
                    label("note", (at, bottom - 6.0), anchor, text),
                ])
            }
        }
    }

    pub fn series(&self, i: usize, series: &Series) -> Element {
        let colour = series.colour.unwrap_or(i) % SERIES.len();
        let group = Element::new("g");
        let path = || {
            let class = if series.look == Look::Dashed { " dashed" } else { "" };
            Element::new("polyline")
                .class(&format!("line c{colour}{class}"))
                .set("points", self.points(series.points.iter().copied()))
        };
        match series.look {
            Look::Line if series.points.len() <= 30 => {
                group.with(path()).all(self.marks(series, colour)).all(self.bars(series, colour))
            }
            Look::Line | Look::Dashed => group.with(path()).all(self.bars(series, colour)),
            Look::Band => group.with(self.band(series, colour)).with(path()),
            Look::Marks => group.all(self.bars(series, colour)).all(self.marks(series, colour)),
            Look::Columns => group.all(self.columns(series, colour)),
        }
    }

    fn points(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut text = String::new();
        for point in points {
            let (x, y) = self.place(point);
            // Writing to a String cannot fail.
            let _ = write!(text, "{},{} ", length(x), length(y));
        }
        text.pop();
        text
    }

    fn band(&self, series: &Series, colour: usize) -> Element {
        let with = |sign: f64| {
            let moved = move |(i, (x, y)): (usize, &(f64, f64))| (*x, y + sign * series.error(i));
            series.points.iter().enumerate().map(moved)
        };
        let outline: Vec<(f64, f64)> =
            with(1.0).chain(with(-1.0).collect::<Vec<_>>().into_iter().rev()).collect();
        Element::new("polygon")
            .class(&format!("band f{colour}"))
            .set("points", self.points(outline.into_iter()))
    }

    fn marks(&self, series: &Series, colour: usize) -> Vec<Element> {
        let radius = if series.points.len() > 100 { 1.5 } else { 2.5 };
        series.points.iter().map(|point| dot(colour, self.place(*point), radius)).collect()
    }

    fn bars(&self, series: &Series, colour: usize) -> Vec<Element> {
        let bar = |(i, &(x, y)): (usize, &(f64, f64))| {
            let error = series.error(i);
            let class = format!("bar c{colour}");
            let ends = [(x, y - error), (x, y + error)].map(|end| self.place(end));
            (error > 0.0).then(|| line(&class, ends[0], ends[1]))
        };
        series.points.iter().enumerate().filter_map(bar).collect()
    }

    fn columns(&self, series: &Series, colour: usize) -> Vec<Element> {
        let room = (self.right - self.left) / series.points.len().max(1) as f64;
        let width = (0.8 * room).clamp(0.5, 40.0);
        let column = |point: &(f64, f64)| {
            let ((x, top), (_, zero)) = (self.place(*point), self.place((point.0, 0.0)));
            rect(colour, (x - width / 2.0, top.min(zero)), (width, (zero - top).abs()))
        };
        series.points.iter().map(column).collect()
    }
}

/// Names of series above the plot, in as many lines as they need, `top` below the upper end; and the height of all lines.
pub fn legend<'a>(
    named: impl Iterator<Item = (usize, &'a Series)>,
    width: f64,
    top: f64,
) -> (Element, f64) {
    let (mut x, mut y) = (4.0, 12.0);
    let mut height = 0.0;
    let mut group = Element::new("g");
    for (i, series) in named {
        let wide = 34.0 + CHARACTER * series.name.chars().count() as f64;
        if x + wide > width && x > 4.0 {
            (x, y) = (4.0, y + 16.0);
        }
        group = group.with(legend_entry(i, series, (x, y + top)));
        x += wide;
        height = y + 6.0;
    }
    (group, height)
}

fn legend_entry(i: usize, series: &Series, (x, y): (f64, f64)) -> Element {
    let colour = series.colour.unwrap_or(i) % SERIES.len();
    let stroke = |class: &str| line(class, (x, y - 4.0), (x + 18.0, y - 4.0));
    let sign = match series.look {
        Look::Marks => dot(colour, (x + 9.0, y - 4.0), 3.0),
        Look::Columns => rect(colour, (x + 4.0, y - 9.0), (10.0, 10.0)),
        Look::Dashed => stroke(&format!("line dashed c{colour}")),
        Look::Line | Look::Band => stroke(&format!("line c{colour}")),
    };
    Element::new("g").with(sign).with(label("name", (x + 23.0, y), "start", &series.name))
}

fn dot(colour: usize, (x, y): (f64, f64), radius: f64) -> Element {
    Element::new("circle").class(&format!("f{colour}")).at("cx", x).at("cy", y).at("r", radius)
}

fn rect(colour: usize, (x, y): (f64, f64), (width, height): (f64, f64)) -> Element {
    let corner = Element::new("rect").class(&format!("f{colour}")).at("x", x).at("y", y);
    corner.at("width", width).at("height", height)
}

fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Element {
    Element::new("line").class(class).at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2)
}

pub fn label(class: &str, (x, y): (f64, f64), anchor: &str, text: &str) -> Element {
    Element::new("text").class(class).at("x", x).at("y", y).set("text-anchor", anchor).text(text)
}
