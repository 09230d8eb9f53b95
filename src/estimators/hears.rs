//! Who is told of the steps of an estimate.

/// Who hears of the steps of an estimate.
pub trait Hears {
    /// The method that comes next, and whether it has work of its own to do.
    fn method(&mut self, name: &str, works: bool);
    /// What was found by a step.
    fn line(&mut self, line: &str);
}

/// Each line with the method it is about.
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
