//! Python environments of tests that compare with Python packages: under the target folder, made once.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program; its standard output, or what it said of its failure.
pub fn run(program: impl AsRef<OsStr>, arguments: &[&OsStr]) -> Result<Vec<u8>, String> {
    let program = program.as_ref();
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr)))
    }
}

/// The Python of an environment with `tests/{name}_requirements.txt`. Without Python or a package index a reason is printed
/// and there is none; with `ZTRACK_REQUIRE_{NAME}` set (CI) that is a failure.
pub fn environment(name: &str) -> Option<PathBuf> {
    match make(name) {
        Ok(python) => Some(python),
        Err(reason) => {
            let required = format!("ZTRACK_REQUIRE_{}", name.to_uppercase());
            assert!(std::env::var_os(required).is_none(), "{reason}");
            eprintln!("skipped: {}", reason.trim());
            None
        }
    }
}

/// A marker file tells a whole environment from one whose making was cut short.
fn make(name: &str) -> Result<PathBuf, String> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}_requirements.txt"));
    let requirements = fs::read_to_string(&list).map_err(|error| error.to_string())?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-venv"));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let marker = folder.join("requirements-installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == requirements) {
        return Ok(python);
    }
    let system = if cfg!(windows) { "python" } else { "python3" };
    run(system, &["-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), folder.as_ref()])?;
    let install = ["-m", "pip", "install", "--quiet", "--retries=1", "-r"].map(OsStr::new);
    run(&python, &[&install[..], &[list.as_ref()]].concat())?;
    fs::write(&marker, requirements).map_err(|error| error.to_string())?;
    Ok(python)
}
