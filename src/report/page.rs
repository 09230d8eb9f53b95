//! The page: sections of figures, each figure with one sentence, and the style rules.

use crate::record::markup::Element;
use crate::record::style;

/// Size of a chart; text in it is 12 units high, so that charts are readable on a telephone.
pub const SIZE: (f64, f64) = (440.0, 260.0);
/// Colours of the training and of the validation rows.
pub const TRAIN: usize = 0;
pub const VALIDATION: usize = 1;
/// Label of the x axis of curves.
pub const UPDATES: &str = "parameter updates";

/// A part of the page.
#[derive(Clone, Debug)]
#[must_use]
pub struct Section {
    title: String,
    content: Vec<Element>,
    figures: Vec<Element>,
    /// Titles of the figures that show something wrong.
    warnings: Vec<String>,
}

/// What a figure shows of this run, and whether that is healthy, if it can be judged.
#[derive(Clone, Debug)]
pub struct Here {
    words: String,
    healthy: Option<bool>,
}

impl From<String> for Here {
    fn from(words: String) -> Self {
        Self { words, healthy: None }
    }
}

impl Here {
    /// Judged.
    pub fn judged(words: String, healthy: bool) -> Self {
        Self { words, healthy: Some(healthy) }
    }
}

impl Section {
    /// Without content.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), content: Vec::new(), figures: Vec::new(), warnings: Vec::new() }
    }

    /// Adds something above the figures.
    pub fn with(mut self, element: Element) -> Self {
        self.content.push(element);
        self
    }

    /// Adds a paragraph above the figures.
    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.with(Element::new("p").text(text))
    }

    /// Adds a figure that takes the whole width.
    pub fn broad(self, title: &str, picture: Element, words: (&str, impl Into<Here>)) -> Self {
        let mut section = self.figure(title, vec![picture], words);
        let figure = section.figures.pop();
        section.figures.extend(figure.map(|figure| figure.class("broad")));
        section
    }

    /// Adds a figure: its pictures, and the sentence that describes a healthy run and this run; its title has a mark if it is judged.
    pub fn figure(
        mut self,
        title: &str,
        pictures: Vec<Element>,
        (healthy, here): (&str, impl Into<Here>),
    ) -> Self {
        if !pictures.is_empty() {
            let here: Here = here.into();
            let sentence = format!("Healthy: {healthy}; here: {}.", here.words);
            let mark = match here.healthy {
                None => "",
                Some(true) => "✓ ",
                Some(false) => {
                    self.warnings.push(title.into());
                    "⚠ "
                }
            };
            self.figures.push(
                Element::new("figure")
                    .with(Element::new("h3").text(format!("{mark}{title}")))
                    .all(pictures)
                    .with(Element::new("figcaption").text(sentence)),
            );
        }
        self
    }

    /// Titles of the figures that show something wrong.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty() && self.figures.is_empty()
    }

    fn element(self) -> Element {
        let section =
            Element::new("section").with(Element::new("h2").text(self.title)).all(self.content);
        if self.figures.is_empty() {
            return section;
        }
        section.with(Element::new("div").class("figures").all(self.figures))
    }
}

/// A table: names of columns, and rows of cells. Cells that begin with a digit or a sign are numbers.
pub fn table(columns: &[&str], rows: Vec<Vec<Element>>) -> Element {
    let head = columns.iter().map(|name| Element::new("th").text(*name));
    let row = |cells: Vec<Element>| Element::new("tr").all(cells);
    let head = Element::new("thead").with(Element::new("tr").all(head));
    let body = Element::new("tbody").all(rows.into_iter().map(row));
    let table = Element::new("table");
    let table = if columns.is_empty() { table } else { table.with(head) };
    Element::new("div").class("wide").with(table.with(body))
}

/// A cell of text.
pub fn cell(text: impl Into<String>) -> Element {
    Element::new("td").text(text)
}

/// A cell of a number.
pub fn number_cell(text: impl Into<String>) -> Element {
    Element::new("td").class("number").text(text)
}

/// A value and its standard error, with as many digits as the error justifies.
pub fn with_error(value: f64, error: f64) -> String {
    match error {
        0.0 => format!("{value:.3} (exact)"),
        e if e.is_nan() => format!("{value:.3}"),
        e if e < 0.0005 => format!("{value:.6} ± {e:.1e}"),
        e => format!("{value:.3} ± {e:.3}"),
    }
}

/// An error with so many decimals; that of one row is not known.
pub fn shown_error(error: f64, decimals: usize) -> String {
    if error.is_nan() { "unknown".into() } else { format!("{error:.decimals$}") }
}

/// A duration as text.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// The whole page as HTML that is well-formed XML too.
pub fn document(title: &str, subtitle: &str, sections: Vec<Section>) -> String {
    let [light, dark] = [false, true].map(style);
    let rules = format!("{RULES}{light}@media(prefers-color-scheme:dark){{{DARK}{dark}}}");
    let head = Element::new("head")
        .with(Element::new("meta").set("charset", "utf-8"))
        .with(
            Element::new("meta")
                .set("name", "viewport")
                .set("content", "width=device-width, initial-scale=1"),
        )
        .with(Element::new("title").text(title))
        .with(Element::new("style").text(rules));
    let header = Element::new("header")
        .with(Element::new("h1").text(title))
        .with(Element::new("p").text(subtitle));
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    let body = Element::new("body").with(header).all(sections.map(Section::element));
    let html = Element::new("html").set("lang", "en").with(head).with(body);
    format!("<!DOCTYPE html>\n{html}\n")
}

const RULES: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:0 16px 48px;max-width:1380px;background:#fff;color:#222}\
h1{font-size:24px;margin:24px 0 0;overflow-wrap:anywhere}header p{margin:2px 0 0;color:#666}\
h2{font-size:18px;margin:32px 0 8px;border-bottom:1px solid #ddd;padding-bottom:4px}\
h3{font-size:14px;margin:0 0 4px}p{margin:6px 0;max-width:90ch}\
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:20px 28px}\
figure{margin:8px 0 0;min-width:0}figcaption{font-size:13px;color:#555;margin-top:4px}\
svg{display:block;width:100%;height:auto}img{display:block;max-width:100%;image-rendering:pixelated}\
.broad{grid-column:1/-1}.picture{width:100%;max-width:420px}.small{max-width:260px}.what{min-width:180px}\
.verdict{border-left:5px solid #009e73;padding:2px 14px;margin:14px 0}.verdict.doubt{border-color:#d55e00}\
.verdict.open{border-color:#0072b2}.verdict p{font-size:16px}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:14px;margin:8px 0}\
th,td{text-align:left;padding:3px 14px 3px 0;vertical-align:top;border-bottom:1px solid #eee}\
th{font-weight:600}.sorted th{cursor:pointer}a{color:#0072b2}.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.strip{width:220px;min-width:120px}.strip svg{width:220px}\
pre{font:12px/1.5 ui-monospace,monospace;overflow-x:auto;background:#f6f7f8;padding:10px;margin:8px 0}\
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}\
ul{margin:6px 0;padding-left:20px}";

const DARK: &str = "\
body{background:#16181c;color:#e3e5e8}header p,figcaption{color:#a8adb5}h2{border-color:#3a3f47}\
th,td{border-color:#2c3037}a{color:#7cc4f0}pre{background:#1f2329}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_decide_the_digits() {
        assert_eq!(with_error(-6.6754, 0.1274), "-6.675 ± 0.127");
        assert_eq!(with_error(26.657, 0.0), "26.657 (exact)");
        assert_eq!(with_error(191.775, 3.2e-5), "191.775000 ± 3.2e-5");
        assert_eq!(with_error(1.0, f64::NAN), "1.000");
    }

    #[test]
    fn figures_that_are_judged_have_a_mark_and_bad_ones_are_listed() {
        let figure = |section: Section, title: &str, here: Here| {
            section.figure(title, vec![cell("1")], ("well", here))
        };
        let section = figure(Section::new("s"), "a", Here::judged("x".into(), true));
        let section = figure(section, "b", Here::judged("y".into(), false));
        let section = figure(section, "c", "z".to_string().into());
        assert_eq!(section.warnings(), ["b"]);
        let page = document("t", "", vec![section]);
        for title in ["<h3>✓ a</h3>", "<h3>⚠ b</h3>", "<h3>c</h3>"] {
            assert!(page.contains(title), "{page}");
        }
    }

    #[test]
    fn durations_have_the_unit_people_use() {
        let texts = [2.34, 75.0, 600.0, 9000.0, 400_000.0].map(duration);
        assert_eq!(texts, ["2.3 s", "75 s", "10 min", "2.5 h", "5 days"]);
    }
}
