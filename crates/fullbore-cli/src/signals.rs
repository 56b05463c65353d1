//! The signal thread: ends the process on Ctrl-C and SIGTERM after removing unfinished files, and flushes output that
//! was held back for a while.

#[cfg(unix)]
use std::io::IsTerminal;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};
use std::time::Duration;

use fullbore::file::{cleanup, ending_signal};
use fullbore::quote::Shown;
use fullbore::sys;
#[cfg(unix)]
use fullbore::{
    buf::Direction,
    sys::{AsHandle, Handle},
};

/// The interval between checks of held output and, in waits, of signals.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The write end of the pipe that wakes the thread for signals.
#[cfg(unix)]
static WAKE: OnceLock<Handle> = OnceLock::new();

/// Wakes the thread, which then flushes held output regularly; `false`: there is no such thread.
#[cfg(unix)]
pub(crate) fn wake() -> bool {
    WAKE.get().is_some_and(|wake| sys::write(wake, &[0]).is_ok())
}

/// The thread, parked until it is woken: waiting for a pipe would take CPU time on this system.
#[cfg(windows)]
static WAKE: OnceLock<std::thread::Thread> = OnceLock::new();

/// Wakes the thread, which then flushes held output regularly; `false`: there is no such thread.
#[cfg(windows)]
pub(crate) fn wake() -> bool {
    WAKE.get().map(std::thread::Thread::unpark).is_some()
}

/// Starts the thread. It must be a thread because cleaning up takes locks, and because a worker may block in a read
/// without end. If it cannot be started, signals end the process immediately. Once woken, the thread calls
/// `flush_overdue` regularly while it returns true.
#[cfg(unix)]
pub(crate) fn install(flush_overdue: fn() -> bool) -> io::Result<()> {
    let (woken, wake) = sys::pipe_nonblocking()?;
    let alone = Arc::new(AtomicBool::new(false));
    catch(&wake, &alone)?;
    match start(move || watch(&woken, flush_overdue)) {
        Ok(_) => drop(WAKE.set(wake)),
        Err(_) => alone.store(true, Ordering::Relaxed),
    }
    Ok(())
}

fn start(watch: impl FnOnce() + Send + 'static) -> io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("signals".into()).stack_size(64 << 10).spawn(watch)
}

/// Lets signals store their number and wake the thread; they end the process immediately once `alone` is set.
#[cfg(unix)]
fn catch(wake: &Handle, alone: &Arc<AtomicBool>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::{flag, low_level};
    // Beyond a file-size limit (`ulimit -f`) a write must fail with a message instead of killing the process. The
    // handler does nothing, but its existence has that effect.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    // Those that the parent process set to be ignored (`nohup`, a shell's `trap ''`, background jobs of a script) stay so.
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !sys::is_ignored(signal)) {
        flag::register_conditional_shutdown(signal, 128 + signal, alone.clone())?;
        flag::register_usize(signal, ending_signal().clone(), signal as usize)?;
        low_level::pipe::register(signal, wake.try_clone()?)?;
    }
    Ok(())
}

/// Lets Ctrl-C, Ctrl-Break and the closing of the console end the process, on a thread that the system starts for them; starts
/// the thread that flushes held output: once woken, it calls `flush_overdue` regularly while it returns true.
#[cfg(windows)]
pub(crate) fn install(flush_overdue: fn() -> bool) -> io::Result<()> {
    const INTERRUPTED: i32 = 2;
    sys::on_console_event(|| {
        ending_signal().store(INTERRUPTED as usize, Ordering::Relaxed);
        end(INTERRUPTED)
    })?;
    let watch = move || {
        let mut held = false;
        loop {
            match held {
                true => std::thread::park_timeout(TICK),
                false => std::thread::park(),
            }
            held = flush_overdue();
        }
    };
    if let Ok(watching) = start(watch) {
        let _ = WAKE.set(watching.thread().clone());
    }
    Ok(())
}

/// Ends the process if a signal has been caught: before a result is printed, because the input of a pipeline ends when the same
/// signal ends the process that writes it.
pub(crate) fn end_if_caught() {
    match ending_signal().load(Ordering::Relaxed) {
        0 => {}
        signal => end(signal as i32),
    }
}

#[cfg(unix)]
fn watch(woken: &impl AsHandle, flush_overdue: fn() -> bool) {
    let mut held = false;
    loop {
        let polled = sys::wait_any(&[(woken.as_handle(), Direction::Read)], held.then_some(TICK));
        end_if_caught();
        if polled.is_ok_and(|ready| ready[0]) {
            let _ = sys::read(woken, &mut [0; 64]);
        }
        held = flush_overdue();
    }
}

/// The number of lines of progress on the terminal.
static SHOWN: AtomicU8 = AtomicU8::new(0);

/// Notes the number of lines of progress on the terminal: a signal that ends the process removes them.
pub fn note_shown(lines: u8) {
    SHOWN.store(lines, Ordering::Relaxed);
}

/// A file of results, and the message about it.
static AT_END: OnceLock<(PathBuf, String)> = OnceLock::new();

/// Sets the message that the process prints if a signal ends it and `results` exists then; only the first one counts.
pub fn note_end(results: PathBuf, message: String) {
    let _ = AT_END.set((results, message));
}

/// Removes the lines of progress without waiting for the thread that draws them.
#[cfg(unix)]
fn clear_shown(terminal: &mut impl Write) {
    for line in (1..=SHOWN.swap(0, Ordering::Relaxed)).rev() {
        let up = if line > 1 { "\x1b[1A" } else { "" };
        let _ = write!(terminal, "\r\x1b[2K{up}");
    }
}

/// Ends the process as `signal` would.
fn end(signal: i32) -> ! {
    fullbore_bench::stop_children();
    let unfinished = cleanup();
    let mut err = io::stderr();
    #[cfg(unix)]
    if err.is_terminal() {
        clear_shown(&mut err);
    }
    for path in unfinished {
        let _ = writeln!(err, "fullbore: {}: interrupted: part old and part new", Shown(&path));
    }
    if let Some((_, message)) = AT_END.get().filter(|(results, _)| results.exists()) {
        let _ = writeln!(err, "fullbore: {message}");
    }
    sys::restore_console();
    // On a terminal by the signal itself: a shell then ends the loop or the script that runs this command. The system ignores it
    // in the first process of a container.
    #[cfg(unix)]
    if err.is_terminal() && std::process::id() != 1 {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    std::process::exit(128 + signal);
}
