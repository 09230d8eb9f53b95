//! Elements of HTML and SVG as values, written so that both HTML and XML readers accept them.

use std::fmt;

/// Elements that never have content: written as `<name/>`. All others are closed, because HTML readers would otherwise continue inside
/// them.
const EMPTY: [&str; 9] =
    ["meta", "br", "img", "path", "line", "rect", "circle", "polyline", "polygon"];

/// One element with its attributes and content.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<Content>,
}

#[derive(Clone, Debug)]
enum Content {
    Element(Element),
    Text(String),
}

impl Element {
    /// Without attributes and content.
    pub fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds an attribute.
    pub fn set(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Adds an attribute that is a length or a place: tenths of a unit are finer than any screen.
    pub fn at(self, name: &'static str, value: f64) -> Self {
        self.set(name, length(value))
    }

    /// Adds the attribute `class`.
    pub fn class(self, class: &str) -> Self {
        self.set("class", class)
    }

    /// Adds text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.content.push(Content::Text(text.into()));
        self
    }

    /// Adds an element.
    pub fn with(mut self, element: Self) -> Self {
        self.content.push(Content::Element(element));
        self
    }

    /// Adds elements.
    pub fn all(mut self, elements: impl IntoIterator<Item = Self>) -> Self {
        self.content.extend(elements.into_iter().map(Content::Element));
        self
    }
}

/// A number of tenths, without what says nothing.
pub fn length(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", escaped(value))?;
        }
        if self.content.is_empty() && EMPTY.contains(&self.name) {
            return f.write_str("/>");
        }
        f.write_str(">")?;
        for content in &self.content {
            match content {
                Content::Element(element) => element.fmt(f)?,
                Content::Text(text) => f.write_str(&escaped(text))?,
            }
        }
        write!(f, "</{}>", self.name)
    }
}

/// Text without what would be markup, without control characters, which XML does not know, and without marks that reorder text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            c if c.is_control() || reorders(c) => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

/// Whether a character changes the direction of the text around it, with which a name can look like another.
pub fn reorders(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_elements_are_closed() {
        let element = Element::new("p")
            .set("title", "a \"b\" & c")
            .text("1 < 2\u{7}\u{202e}")
            .with(Element::new("br"))
            .with(Element::new("td"));
        assert_eq!(
            element.to_string(),
            "<p title=\"a &quot;b&quot; &amp; c\">1 &lt; 2\u{fffd}\u{fffd}<br/><td></td></p>"
        );
    }

    #[test]
    fn lengths_have_no_needless_digits() {
        assert_eq!([0.0, -0.01, 1.25, 100.04, -3.96].map(length), ["0", "0", "1.2", "100", "-4"]);
    }
}
