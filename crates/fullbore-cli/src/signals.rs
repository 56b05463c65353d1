//! Ctrl-C and SIGTERM: what was begun is removed, what is half-written is named, and the process ends.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fullbore::file::abandon_all;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// Starts the thread that waits for signals. A thread, because cleaning up takes locks and a worker may be
/// stuck in a read that nothing ends.
pub(crate) fn install() -> io::Result<()> {
    // Past a file-size limit (`ulimit -f`) a write shall fail, with a message, and not kill: the handler does
    // nothing, but that there is one makes the difference.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let ignored = ignored();
    let mut signals = Signals::new(
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0),
    )?;
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            fullbore_bench::stop_children();
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

/// The signals that whoever started this told it to ignore (`nohup`, a shell's `trap ''`, jobs in the background
/// of a script), as a mask: they stay ignored.
fn ignored() -> u64 {
    let mask = fullbore::probe::process_status("SigIgn");
    mask.and_then(|mask| u64::from_str_radix(&mask, 16).ok()).unwrap_or(0)
}
