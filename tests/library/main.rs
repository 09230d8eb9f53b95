//! Tests of the library through its public interface.

mod adaptive_weights;
mod annealed_estimators;
mod architecture;
mod categorical;
#[path = "../common/mod.rs"]
mod common;
mod data_bad_input;
mod data_formats;
mod data_real;
mod estimator_z_scores;
#[path = "../files/mod.rs"]
mod files;
mod known_bounds;
mod last_audits;
mod live_number;
mod mbar_pymbar;
mod mixture_path;
mod no_drift;
mod on_burn;
mod plus_minus;
#[path = "../../experiments/support/potts.rs"]
mod potts;
#[path = "../python/mod.rs"]
mod python;
mod real_values;
mod row_weights;
mod silent_errors;
#[path = "../statistics/mod.rs"]
mod statistics;
mod tempered_estimators;
mod tensorboard;
mod track_any_loop;
mod tracking;
mod trainer;
mod units;
