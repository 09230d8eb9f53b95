//! Pictures of a run: weight filters, samples at beta = 1, the transition matrix.

use super::Trainer;
use crate::error::Result;
use crate::record::{Image, Record, Run};
use crate::tracking::{ChainTracker, Model};

/// Most filters and samples shown.
const SHOWN: usize = 100;
const COLUMNS: usize = 10;
/// Pixels a side that small pictures are scaled up to.
const SMALLEST_SIDE: usize = 300;

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
            for chain in self.chains_at_one(tracker) {
                samples.push(Image::from_bits(&tracker.chains.visible, chain, height, width)?);
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

    /// Chains that are at beta = 1 now; those with the largest weight there if none is.
    fn chains_at_one(&self, tracker: &ChainTracker) -> Vec<usize> {
        let top = self.plan.ladder.len() as u32 - 1;
        let chains = &tracker.chains.temperatures;
        let at_one: Vec<usize> =
            (0..chains.len()).filter(|&s| chains[s] == top).take(SHOWN).collect();
        if !at_one.is_empty() {
            return at_one;
        }
        let weights = tracker.weights();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        order.truncate(COLUMNS);
        order
    }
}

fn sheet(images: &[Image]) -> Result<Image> {
    let tiled = Image::tile(images, COLUMNS.min(images.len()), 1)?;
    let factor = (SMALLEST_SIDE / tiled.width().max(1)).clamp(1, 8);
    Ok(tiled.scale(factor))
}
