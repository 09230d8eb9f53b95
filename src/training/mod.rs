//! Gradients, update rules, schedules, early stopping.
