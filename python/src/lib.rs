//! What Python cannot do by itself, behind the package `ztrack`: arrays come as bytes that `ztrack/_arrays.py` has checked, results
//! go back as numbers, bytes and JSON. The interface for people is the Python in python/package/ztrack.

mod arrays;
mod complete;
mod early_stopping;
mod engine;
mod engine_path;
mod errors;
mod estimate;
mod fit;
mod long_call;
mod step;
mod tracker;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(estimate::log_partition, module)?)?;
    module.add_function(wrap_pyfunction!(estimate::sample, module)?)?;
    module.add_function(wrap_pyfunction!(complete::complete, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    module.add_function(wrap_pyfunction!(early_stopping::observe, module)?)?;
    module.add_function(wrap_pyfunction!(step::step, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::check_memory, module)?)?;
    let end_all = wrap_pyfunction!(long_call::end_all, module)?;
    module.py().import("atexit")?.call_method1("register", (end_all,))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::EngineTracker>()?;
    module.add_class::<tracker::Tracker>()
}
