//! Content of a chart.

/// Approximate width of a character of the font, for legends and margins.
pub(super) const CHARACTER: f64 = 6.6;

/// A chart of one or more series over a common x axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Shown above.
    pub title: String,
    /// Shown below the x axis.
    pub x_label: String,
    /// Shown above the y axis.
    pub y_label: String,
    /// Logarithmic x axis; points with x <= 0 are left out.
    pub log_x: bool,
    /// Logarithmic y axis; points with y <= 0 are left out.
    pub log_y: bool,
    /// Ends of the x axis; by default those of the points.
    pub x_range: Option<(f64, f64)>,
    /// Ends of the y axis; by default those of the points.
    pub y_range: Option<(f64, f64)>,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
    /// Straight lines at given values.
    pub guides: Vec<Guide>,
}

impl Chart {
    /// Series over labelled axes.
    pub fn of(x_label: &str, y_label: &str, series: Vec<Series>) -> Self {
        Self { x_label: x_label.into(), y_label: y_label.into(), series, ..Self::default() }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// A line through the points, errors as bars.
    #[default]
    Line,
    /// The same, in dashes.
    Dashed,
    /// A line, errors as a shaded band.
    Band,
    /// Marks, errors as bars.
    Marks,
    /// Columns from zero.
    Columns,
}

/// One curve.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Series {
    /// Shown in the legend.
    pub name: String,
    /// (x, y), connected by a line in this order.
    pub points: Vec<(f64, f64)>,
    /// Half lengths of vertical errors, one per point; empty without.
    pub errors: Vec<f64>,
    /// How it is drawn.
    pub look: Look,
    /// Number of its colour; by default its position among the series.
    pub colour: Option<usize>,
}

/// A straight line across the chart, with a label.
#[derive(Clone, Debug)]
pub enum Guide {
    /// At this y.
    Horizontal(f64, String),
    /// At this x.
    Vertical(f64, String),
}

impl Series {
    /// A curve without error bars.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }

    /// The same in another look.
    pub fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// With half lengths of vertical errors, one per point.
    pub fn errors(self, errors: Vec<f64>) -> Self {
        Self { errors, ..self }
    }

    /// In a colour of its own.
    pub fn colour(self, colour: usize) -> Self {
        Self { colour: Some(colour), ..self }
    }

    pub(super) fn error(&self, i: usize) -> f64 {
        self.errors.get(i).copied().filter(|e| e.is_finite()).unwrap_or(0.0)
    }
}
