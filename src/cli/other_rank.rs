//! A rank of a run that is not the first: the same steps, without files and output.

use std::process::ExitCode;

use anyhow::Result;

use super::shared_start::{SharedStart, check_rows};
use super::signals::{self, INTERRUPTED};
use super::train::Train;
use crate::collective::gather_one;
use crate::context::Context;
use crate::error::Error;
use crate::record::Tee;
use crate::training::{NoCheckpoints, StopReason, Trainer, run};

impl Train {
    /// Takes part in the run that rank 0 starts.
    pub fn take_part(&self, context: &Context) -> Result<ExitCode> {
        if self.dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        let context = &context.clone().on(self.device.device()?);
        let ranks = context.ranks();
        let _listener = signals::listen(context)?;
        let SharedStart { config, splits, state, changes } = SharedStart::receive(ranks)?;
        let splits = match splits {
            Some(splits) => splits,
            None => config.data.load(self.data_folder.as_deref())?,
        };
        let mut trainer = match state {
            Some(state) => Trainer::resume(&config, splits, context, &state, changes)?,
            None => Trainer::new(&config, splits, context)?,
        };
        check_rows(ranks, &trainer)?;
        if gather_one(ranks, 0)[0] == 1 {
            return Ok(ExitCode::SUCCESS);
        }
        let outcome = run(&mut trainer, &mut Tee(Vec::new()), &mut NoCheckpoints)?;
        if outcome.reason == StopReason::Interrupted {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        match trainer.last_audits() {
            Ok(_) => Ok(ExitCode::SUCCESS),
            Err(Error::Interrupted) => Ok(ExitCode::from(INTERRUPTED)),
            Err(error) => Err(error.into()),
        }
    }
}
