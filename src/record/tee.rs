//! One recorder that combines several.

use super::{Notice, Progress, Record, Recorder};
use crate::error::Result;

/// Passes everything on to each recorder in turn.
///
/// All of them are served even if one fails, so that a full disk under one does not silence the others; the first
/// error is returned.
#[derive(Default)]
pub struct Tee<'a>(pub Vec<Box<dyn Recorder + 'a>>);

impl Tee<'_> {
    fn each(&mut self, mut act: impl FnMut(&mut dyn Recorder) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        for recorder in &mut self.0 {
            outcome = outcome.and(act(recorder.as_mut()));
        }
        outcome
    }
}

impl Recorder for Tee<'_> {
    fn record(&mut self, record: &Record) -> Result<()> {
        self.each(|recorder| recorder.record(record))
    }

    fn progress(&mut self, progress: &Progress) {
        for recorder in &mut self.0 {
            recorder.progress(progress);
        }
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        self.each(|recorder| recorder.notice(notice, update))
    }

    fn sync(&mut self) -> Result<()> {
        self.each(|recorder| recorder.sync())
    }

    fn finish(&mut self) -> Result<()> {
        self.each(|recorder| recorder.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Memory, Run};

    #[test]
    fn every_recorder_gets_everything_and_can_be_read_afterwards() {
        let (mut first, mut second) = (Memory::default(), Memory::default());
        let mut tee = Tee(vec![Box::new(&mut first), Box::new(&mut second)]);
        let mut record = Record::new(3, 0.5, 1.0);
        record.scalar(Run::Tracker, "log_z", 7.0);
        tee.record(&record).unwrap();
        tee.progress(&Progress { update: 3, ..Progress::default() });
        tee.notice(&Notice::ModeMissed, 3).unwrap();
        tee.finish().unwrap();
        drop(tee);
        assert_eq!(first, second);
        assert_eq!(first.series(Run::Tracker, "log_z"), [(3, 7.0)]);
        assert_eq!((first.progress.len(), first.notices.len(), first.finished), (1, 1, true));
    }

    #[test]
    fn a_failing_recorder_does_not_silence_the_next() {
        struct Broken;
        impl Recorder for Broken {
            fn record(&mut self, _: &Record) -> Result<()> {
                Err(crate::Error::Invalid("full".into()))
            }
        }
        let mut memory = Memory::default();
        let outcome = Tee(vec![Box::new(Broken), Box::new(&mut memory)]).record(&Record::default());
        assert!(outcome.is_err());
        assert_eq!(memory.records.len(), 1);
    }
}
