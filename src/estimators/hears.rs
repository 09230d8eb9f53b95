//! Receivers of the progress of an estimate.

/// Receives the steps of an estimate.
pub trait Hears {
    /// The method that comes next, and whether it does work of its own.
    fn method(&mut self, name: &str, works: bool);
    /// Result of a step.
    fn line(&mut self, line: &str);
}

/// Each line with the method that it belongs to.
pub(super) struct Lines<'a> {
    method: String,
    tell: &'a mut dyn FnMut(&str),
}

impl<'a> Lines<'a> {
    pub fn new(tell: &'a mut dyn FnMut(&str)) -> Self {
        Self { method: String::new(), tell }
    }
}

impl Hears for Lines<'_> {
    fn method(&mut self, name: &str, works: bool) {
        self.method = name.into();
        if works {
            (self.tell)(name);
        }
    }

    fn line(&mut self, line: &str) {
        (self.tell)(&format!("{}: {line}", self.method));
    }
}
