//! Plain lines of a running training, where no terminal shows its display.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::live_text::task;
use super::screen::redraw;
use crate::context::Context;
use crate::context::progress::{Task, Watch, lock};

/// Time without a line after which a long task is named.
const SILENCE: Duration = Duration::from_secs(10);
/// Time between two looks at the running task.
const LOOK: Duration = Duration::from_millis(250);

/// Lines to an output; a thread tells of long tasks until it is dropped.
pub(super) struct Plain(Arc<Mutex<Lines>>);

struct Lines {
    out: Box<dyn Write + Send>,
    watch: Watch,
    written: Instant,
    ended: bool,
}

impl Plain {
    pub(super) fn new(out: impl Write + Send + 'static, context: &Context) -> Self {
        let lines = Arc::new(Mutex::new(Lines::new(out, context)));
        redraw(&lines, LOOK, |lines| {
            if !lines.ended {
                lines.tell(lines.watch.task().as_ref());
            }
            lines.ended
        });
        Self(lines)
    }

    /// An output that fails is not an error.
    pub(super) fn write(&self, text: &str) {
        lock(&self.0).write(text);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        lock(&self.0).ended = true;
    }
}

impl Lines {
    fn new(out: impl Write + Send + 'static, context: &Context) -> Self {
        let (out, watch, written) = (Box::new(out), context.watch(), Instant::now());
        Self { out, watch, written, ended: false }
    }

    fn write(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
        self.written = Instant::now();
    }

    /// Writes a line on the running task, if there has been none for some time.
    fn tell(&mut self, running: Option<&Task>) {
        let silent = |task: &&Task| task.since.elapsed().min(self.written.elapsed()) >= SILENCE;
        if let Some(text) = task(running.filter(silent), false) {
            self.write(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::io::read_to_string;

    use super::*;

    #[test]
    fn a_long_task_is_told_after_a_silence() {
        let (reader, writer) = pipe().unwrap();
        let mut lines = Lines::new(writer, &Context::default());
        lines.written = Instant::now() - 2 * SILENCE;
        let task = |since| Task { name: "audit of model 2 of 4".into(), since, stage: None };
        lines.tell(None);
        lines.tell(Some(&task(Instant::now())));
        let long = task(Instant::now() - Duration::from_secs(65));
        lines.tell(Some(&long));
        // A line has been written.
        lines.tell(Some(&long));
        drop(lines);
        assert_eq!(read_to_string(reader).unwrap(), "audit of model 2 of 4: 1m 05s\n");
    }
}
