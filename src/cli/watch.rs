//! `ztrack watch`: live curves of a run in the terminal, from its folder alone.

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Dataset, GraphType, Paragraph};
use ratatui::{DefaultTerminal, Frame, widgets};

use super::report::read;
use crate::record::{Chart, Guide, Look, short};
use crate::report::{self, RunFiles, duration};

/// Show a run's curves live in the terminal; q quits, the run continues
#[derive(Args)]
#[command(after_help = "Example:\n  ztrack watch runs/dna")]
pub struct Watch {
    /// Run folder
    run: PathBuf,
    /// Seconds between two looks at the folder
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    every: f64,
}

impl Watch {
    /// Draws until a key ends it.
    pub fn run(self) -> Result<()> {
        ensure!(
            self.every > 0.0 && self.every <= 3600.0,
            "--every: seconds between 0 and 3600 are needed, got {}",
            self.every
        );
        // Errors are reported before the screen is switched.
        read(&self.run)?;
        ensure!(
            stdout().is_terminal(),
            "watch draws on a terminal; for a page: ztrack report {}",
            self.run.display()
        );
        let mut terminal = ratatui::try_init().context("cannot draw on this terminal")?;
        let result = self.show(&mut terminal);
        ratatui::restore();
        result
    }

    fn show(&self, terminal: &mut DefaultTerminal) -> Result<()> {
        loop {
            let run = read(&self.run)?;
            terminal.draw(|frame| draw(frame, &run))?;
            if event::poll(Duration::from_secs_f64(self.every))?
                && let Event::Key(key) = event::read()?
            {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if control => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}

fn draw(frame: &mut Frame<'_>, run: &RunFiles) {
    let [head, likelihood, log_z, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Percentage(55),
        Constraint::Min(5),
        Constraint::Length(3),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(header(run)), head);
    panel(frame, likelihood, &report::likelihoods(run));
    panel(frame, log_z, &report::log_z(run));
    frame.render_widget(Paragraph::new(footer(run)), foot);
}

fn header(run: &RunFiles) -> Vec<Line<'static>> {
    let metrics = &run.metrics;
    let update = metrics.rows().checked_sub(1).map_or(0.0, |last| metrics.update(last));
    let of = run.planned().map_or(String::new(), |planned| format!(" of {planned}"));
    let age = run.age.map_or(String::new(), |age| {
        format!(", last evaluation {} ago", duration(age.as_secs_f64()))
    });
    let value = |name: &str, column: &str| Some(format!("{name} {}", metrics.latest(column)?));
    let values = [
        value("train", "train_log_likelihood"),
        value("validation", "validation_log_likelihood"),
        value("log Z", "log_z"),
    ];
    let values: Vec<String> = values.into_iter().flatten().collect();
    vec![
        Line::from(format!("{}: {}, update {update}{of}{age}", run.name, run.state.name())),
        Line::from(values.join("   ")),
    ]
}

fn footer(run: &RunFiles) -> Vec<Line<'static>> {
    let metrics = &run.metrics;
    let chains = [
        ("effective chains", "effective_chains"),
        ("crossed the ladder", "crossed_share"),
        ("round trips per 1000 sweeps", "round_trips_per_1000_sweeps"),
    ];
    let chains = chains.iter().filter_map(|(name, column)| {
        let value = metrics.last(column)?;
        let share = *column == "crossed_share";
        Some(if share {
            format!("{:.0} % {name}", 100.0 * value)
        } else {
            format!("{value:.1} {name}")
        })
    });
    let chains: Vec<String> = chains.collect();
    let stopping = run.stopping().map_or("no validation rows: nothing stops the run".into(), |s| {
        let best = run.best().and_then(|(update, value)| Some((update, value?)));
        let best =
            best.map_or(String::new(), |(update, value)| format!("best {value:.3} at {update}; "));
        let waited = s.state.without_improvement;
        let patience = s.settings.map(|settings| settings.patience).filter(|it| waited <= *it);
        let patience = patience.map_or(String::new(), |patience| format!(" of {patience}"));
        format!("{best}{waited}{patience} evaluations without improvement")
    });
    let doubt = match (metrics.last("sound"), metrics.doubts().first()) {
        (Some(0.0), Some((name, _))) => format!("in doubt: {name}"),
        _ => "sound".into(),
    };
    vec![
        Line::from(format!("chains: {}", chains.join(", "))),
        Line::from(stopping),
        Line::from(format!("log Z is {doubt}   q: quit")),
    ]
}

/// Colours of series on a terminal, by their numbers in [`crate::record::style`].
fn colour(number: usize) -> Color {
    const COLOURS: [Color; 8] = [
        Color::Blue,
        Color::Yellow,
        Color::Green,
        Color::Magenta,
        Color::LightYellow,
        Color::Cyan,
        Color::White,
        Color::LightGreen,
    ];
    COLOURS[number % COLOURS.len()]
}

/// Points of a curve, and of the lower and the upper edge of its band.
struct Curve {
    name: String,
    lines: Vec<Vec<(f64, f64)>>,
    marks: bool,
    colour: Color,
}

/// A chart of the report, in characters.
fn panel(frame: &mut Frame<'_>, area: Rect, chart: &Chart) {
    let curves: Vec<Curve> = chart
        .series
        .iter()
        .enumerate()
        .map(|(i, series)| {
            let edge = |sign: f64| {
                let errors = series.errors.iter().map(|e| if e.is_finite() { *e } else { 0.0 });
                series.points.iter().zip(errors).map(|((x, y), e)| (*x, y + sign * e)).collect()
            };
            let mut lines = vec![series.points.clone()];
            if series.look == Look::Band && !series.errors.is_empty() {
                lines.extend([edge(-1.0), edge(1.0)]);
            }
            let colour = colour(series.colour.unwrap_or(i));
            Curve { name: series.name.clone(), lines, marks: series.look == Look::Marks, colour }
        })
        .collect();
    let block = Block::bordered().title(chart.y_label.clone());
    let Some(([left, right], [low, high])) = ranges(&curves, chart.y_range) else {
        frame.render_widget(Paragraph::new("no evaluation yet").block(block), area);
        return;
    };
    let best: Vec<Vec<(f64, f64)>> = chart
        .guides
        .iter()
        .filter_map(|guide| match guide {
            Guide::Vertical(x, _) => Some(vec![(*x, low), (*x, high)]),
            Guide::Horizontal(..) => None,
        })
        .collect();
    let mut sets = Vec::new();
    for curve in &curves {
        for (i, line) in curve.lines.iter().enumerate() {
            let set = Dataset::default().data(line).style(Style::new().fg(curve.colour));
            let drawn = i == 0 && !curve.marks;
            let set = if i == 0 { set.name(curve.name.clone()) } else { set };
            // Edges of bands are dotted.
            sets.push(
                set.marker(if drawn { Marker::Braille } else { Marker::Dot })
                    .graph_type(if drawn { GraphType::Line } else { GraphType::Scatter }),
            );
        }
    }
    sets.extend(best.iter().map(|line| {
        Dataset::default().data(line).marker(Marker::Braille).graph_type(GraphType::Line)
    }));
    let axis = |from: f64, to: f64| {
        Axis::default().bounds([from, to]).labels([from, (from + to) / 2.0, to].map(round))
    };
    let widget = widgets::Chart::new(sets)
        .block(block)
        // The relevant end of a curve is in the upper right.
        .legend_position(Some(widgets::LegendPosition::BottomRight))
        .x_axis(axis(left, right).title(chart.x_label.clone()))
        .y_axis(axis(low, high));
    frame.render_widget(widget, area);
}

fn round(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        short((value * 100.0).round() / 100.0)
    }
}

/// Ends of both axes; `None` without a point.
fn ranges(curves: &[Curve], y_range: Option<(f64, f64)>) -> Option<([f64; 2], [f64; 2])> {
    let points = || curves.iter().flat_map(|curve| &curve.lines[0]);
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|value| value.is_finite()).fold(None, |ends: Option<[f64; 2]>, value| {
            Some(ends.map_or([value, value], |[low, high]| [low.min(value), high.max(value)]))
        })
    };
    let wide =
        |[low, high]: [f64; 2]| if high > low { [low, high] } else { [low - 1.0, high + 1.0] };
    let x = wide(ends(&mut points().map(|p| p.0))?);
    let y = match y_range {
        Some((low, high)) => [low, high],
        None => wide(ends(&mut points().map(|p| p.1))?),
    };
    Some((x, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(run: &RunFiles, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, run)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn curves_patience_and_chains_are_on_the_screen() {
        let folder = tempfile::tempdir().unwrap();
        let config = include_str!("../../configs/bars-and-stripes.toml");
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        let empty = screen(&RunFiles::read(folder.path(), true).unwrap(), 80, 24);
        assert!(empty.contains("running") && empty.contains("no evaluation yet"), "{empty}");
        let row = |i: u32| {
            let x = -10.0 + 3.0 * (1.0 - (-f64::from(i) / 10.0).exp());
            format!("{},{x},0.1,0.05,{x},0.2,0.1,{},0.05,1,1,412\n", 100 * i, 20.0 - x)
        };
        let header = "update,train_log_likelihood,train_log_likelihood_std_error,train_log_likelihood_data_std_error,\
            validation_log_likelihood,validation_log_likelihood_std_error,validation_log_likelihood_data_std_error,\
            log_z,log_z_std_error,sound,decides,effective_chains\n";
        let rows: String = (0..50).map(row).collect();
        std::fs::write(folder.path().join("metrics.csv"), header.to_string() + &rows).unwrap();
        let run = RunFiles::read(folder.path(), true).unwrap();
        for (width, height) in [(80, 24), (200, 60), (20, 8)] {
            let shown = screen(&run, width, height);
            assert!(shown.lines().count() >= usize::from(height));
            if width >= 80 {
                for text in [
                    "update 4900 of 6000",
                    "validation",
                    "412.0 effective chains",
                    "without improvement",
                    "nats",
                ] {
                    assert!(shown.contains(text), "{text}: {shown}");
                }
                assert!(shown.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "no curve");
            }
        }
    }
}
