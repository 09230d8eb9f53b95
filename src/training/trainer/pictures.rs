//! Pictures of a run: weight filters, samples at beta = 1, the transition matrix.

use super::Trainer;
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::record::{Image, Record, Run, SMALLEST_SIDE};
use crate::tracking::{ChainTracker, Model};

/// Most filters and samples shown.
const SHOWN: usize = 100;
const COLUMNS: usize = 10;

impl Trainer {
    pub(super) fn record_pictures(
        &self,
        record: &mut Record,
        tracker: &ChainTracker,
        model: &Model,
    ) -> Result<()> {
        if let Some(shape) = self.rows.image {
            let (height, width) = (shape.height, shape.width);
            let mut filters = Vec::new();
            let transposed = model.parameters.transposed();
            for column in transposed.weights.chunks_exact(transposed.n_hidden).take(SHOWN) {
                let scale = column.iter().fold(f32::MIN_POSITIVE, |max, w| max.max(w.abs()));
                filters.push(Image::diverging(column, height, width, scale)?);
            }
            record.image(Run::Tracker, "weight_filters", sheet(&filters)?);
            let mut samples = Vec::new();
            for (states, row) in self.states_at_one(tracker) {
                samples.push(Image::from_bits(states, row, height, width)?);
            }
            if !samples.is_empty() {
                record.image(Run::Tracker, "samples", sheet(&samples)?);
            }
        }
        let k = self.plan.ladder.len();
        let heat = Image::heat(&tracker.transitions().matrix(), k, true)?;
        let factor = (SMALLEST_SIDE / k).max(1);
        record.image(Run::Tracker, "transition_matrix", heat.scale(factor));
        Ok(())
    }

    /// States of the model at beta = 1: the gradient's particles, then the current chains at beta = 1, those of the tracker and those of
    /// the tempered gradient; if there are none, the chains with the largest weight there.
    fn states_at_one<'a>(&'a self, tracker: &'a ChainTracker) -> Vec<(&'a BitMatrix, usize)> {
        let top = self.plan.ladder.len() as u32 - 1;
        let particles = self.negative_phase.particles().into_iter();
        let mut states: Vec<_> =
            particles.flat_map(|rows| (0..rows.rows()).map(move |row| (rows, row))).collect();
        for chains in [Some(tracker), self.negative_phase.chains()].into_iter().flatten() {
            let chains = &chains.chains;
            let at_one = (0..chains.len()).filter(|&s| chains.temperatures[s] == top);
            states.extend(at_one.map(|s| (&chains.visible, s)));
        }
        if states.is_empty() {
            let weights = tracker.weights();
            let mut order: Vec<usize> = (0..weights.len()).collect();
            order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
            states =
                order.into_iter().take(COLUMNS).map(|s| (&tracker.chains.visible, s)).collect();
        }
        states.truncate(SHOWN);
        states
    }
}

fn sheet(images: &[Image]) -> Result<Image> {
    let tiled = Image::tile(images, COLUMNS.min(images.len()), 1)?;
    let factor = (SMALLEST_SIDE / tiled.width().max(1)).clamp(1, 8);
    Ok(tiled.scale(factor))
}
