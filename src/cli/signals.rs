//! Ctrl-C, SIGTERM, SIGHUP and SIGXCPU (`ulimit -t`): the first asks the run to end; Ctrl-C after that ends the process at once.
//!
//! Only Ctrl-C does: a terminal that closes sends SIGHUP twice, and supervisors repeat SIGTERM, while the state is being kept.
//!
//! A signal that the parent ignored stays ignored, as `nohup` and `trap '' INT` require.

use anyhow::Result;

use crate::context::Context;
#[cfg(unix)]
use crate::record::{ProgressBar, StandardStream};

/// Exit code of a run that was interrupted and can be resumed (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// Listens until it is dropped.
pub struct Listener(#[cfg(unix)] signal_hook::iterator::Handle);

#[cfg(unix)]
impl Drop for Listener {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Installs the handlers: the first signal cancels what runs in the context.
#[cfg(unix)]
pub fn listen(context: &Context) -> Result<Listener> {
    use anyhow::Context as _;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;

    let ends = [SIGINT, SIGTERM, SIGHUP, SIGXCPU];
    let listened: Vec<i32> = ends.into_iter().filter(|&signal| !is_ignored(signal)).collect();
    let mut signals = Signals::new(&listened).context("cannot listen for Ctrl-C")?;
    // A file that reaches the limit of `ulimit -f` is then a failed write with a message, and the process is not killed.
    let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    let (listener, context) = (Listener(signals.handle()), context.clone());
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in &mut signals {
                let again = context.is_cancelled();
                StandardStream::end_soon();
                context.cancel();
                if again && signal == SIGINT {
                    std::process::exit(i32::from(INTERRUPTED));
                }
                // A live display shows it itself, and other processes that send a signal know what they do.
                if !again && signal == SIGINT && !ProgressBar::on_screen() {
                    super::output::tell(
                        "\nending the run and keeping its state; Ctrl-C once more quits at once",
                    );
                }
            }
        })
        .context("cannot listen for Ctrl-C")?;
    Ok(listener)
}

/// Elsewhere a signal ends the process; the run can be resumed from its last checkpoint.
#[cfg(not(unix))]
pub fn listen(_context: &Context) -> Result<Listener> {
    Ok(Listener())
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only writes the old one to a place of the right type; zeros are a valid one.
    let (answer, found) = unsafe {
        (libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr()), found.assume_init())
    };
    answer == 0 && found.sa_sigaction == libc::SIG_IGN
}
