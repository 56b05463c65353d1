//! Ctrl-C and SIGTERM: what was begun is removed, what is half-written is named, and the process ends.

use std::io::{self, Write};

use fullbore::file::abandon_all;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Starts the thread that waits for signals. A thread, because cleaning up takes locks and a worker may be
/// stuck in a read that nothing ends.
pub(crate) fn install() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let unfinished = abandon_all();
            let mut err = io::stderr();
            for path in unfinished {
                let _ =
                    writeln!(err, "fullbore: {}: interrupted, it is part old and part new", path.display());
            }
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}
