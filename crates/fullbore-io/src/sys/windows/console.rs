//! Consoles: their text is UTF-16 to the system, and UTF-8 to the program.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use windows_sys::Win32::Foundation::{ERROR_OPERATION_ABORTED, SetLastError};
use windows_sys::Win32::System::Console as console;
use windows_sys::Win32::System::RemoteDesktop::ProcessIdToSessionId;
use windows_sys::Win32::System::Threading::GetCurrentProcessId;

use super::code::check;
use super::handle::{AsHandle, raw};
use super::process::stdout;
use crate::sys::code::{Code, Result};

pub fn terminal_columns(terminal: impl AsHandle) -> Result<u16> {
    let mut found = console::CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the call writes the structure, which lives through it.
    check(unsafe { console::GetConsoleScreenBufferInfo(raw(&terminal) as _, &raw mut found) })?;
    u16::try_from(found.srWindow.Right - found.srWindow.Left + 1).map_err(|_| Code::INVALID)
}

pub(super) fn is_console(file: &impl AsHandle) -> bool {
    let mut mode = 0;
    // SAFETY: the call writes the mode, which lives through it.
    unsafe { console::GetConsoleMode(raw(file) as _, &raw mut mode) != 0 }
}

/// The consoles that [`interprets_sequences`] changed, by handle, and their modes before.
static MODES: Mutex<Vec<(usize, u32)>> = Mutex::new(Vec::new());

/// Makes a console interpret control sequences; false if it cannot. Other terminals interpret them anyway.
pub fn interprets_sequences(terminal: impl AsHandle) -> bool {
    let (handle, mut mode) = (raw(&terminal), 0);
    let wanted = console::ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    // SAFETY: the call writes the mode, which lives through it.
    if unsafe { console::GetConsoleMode(handle as _, &raw mut mode) } == 0 || mode & wanted != 0 {
        return true;
    }
    // SAFETY: a call with numbers.
    let changed = unsafe { console::SetConsoleMode(handle as _, mode | wanted) != 0 };
    if changed {
        MODES.lock().unwrap_or_else(PoisonError::into_inner).push((handle as usize, mode));
    }
    changed
}

/// The encoding that the console had before [`use_utf8_console`]; 0: it was not changed.
static ENCODING: AtomicU32 = AtomicU32::new(0);

/// Sets a console that is standard output to UTF-8; otherwise it would interpret the bytes in its code page.
pub fn use_utf8_console() {
    const UTF_8: u32 = 65001;
    if !is_console(&stdout()) {
        return;
    }
    // SAFETY: calls with numbers.
    unsafe {
        let before = console::GetConsoleOutputCP();
        if before != UTF_8 && console::SetConsoleOutputCP(UTF_8) != 0 {
            ENCODING.store(before, Ordering::Relaxed);
        }
    }
    // For colours that are requested even if the console cannot show them.
    let _ = interprets_sequences(stdout());
}

/// Restores the encoding and the modes of the console, which outlive the process.
pub fn restore_console() {
    for (handle, mode) in MODES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // SAFETY: a call with numbers.
        unsafe { console::SetConsoleMode(handle as _, mode) };
    }
    let before = ENCODING.swap(0, Ordering::Relaxed);
    if before != 0 {
        // SAFETY: a call with a number.
        unsafe { console::SetConsoleOutputCP(before) };
    }
}

/// True for a process of the session that has the services and no user.
fn is_service() -> bool {
    let mut session = 0;
    // SAFETY: the call writes the number, which lives through it, or leaves it.
    unsafe { ProcessIdToSessionId(GetCurrentProcessId(), &raw mut session) };
    session == 0
}

/// Calls a function, on a thread of its own, when the user or the system ends the process: Ctrl-C, Ctrl-Break, the end of the
/// console, of the user's session or of the system.
pub fn on_console_event(call: fn()) -> Result<()> {
    static CALL: OnceLock<fn()> = OnceLock::new();
    unsafe extern "system" fn handler(event: u32) -> windows_sys::core::BOOL {
        // Services get this event for any user, and continue.
        if event == console::CTRL_LOGOFF_EVENT && is_service() {
            return 1;
        }
        CALL.get().map_or(0, |call| {
            call();
            1
        })
    }
    let _ = CALL.set(call);
    // SAFETY: the handler reads a value that was set before, and calls a safe function.
    check(unsafe { console::SetConsoleCtrlHandler(Some(handler), 1) })
}

/// Text that was typed and not yet read.
struct Typed {
    bytes: VecDeque<u8>,
    /// The first half of a character whose second half the next call of the system returns.
    half: Option<u16>,
}

/// A process has one console.
static TYPED: Mutex<Typed> = Mutex::new(Typed { bytes: VecDeque::new(), half: None });

impl Typed {
    /// Adds what a call returned; false at the end of the input, which is a line that begins with Ctrl-Z.
    fn push(&mut self, units: &[u16]) -> bool {
        const CTRL_Z: u16 = 0x1a;
        if units.first() == Some(&CTRL_Z) {
            return false;
        }
        let mut units: Vec<u16> = self.half.take().into_iter().chain(units.iter().copied()).collect();
        if let Some(&last @ 0xd800..=0xdbff) = units.last() {
            self.half = Some(last);
            units.pop();
        }
        self.bytes.extend(String::from_utf16_lossy(&units).into_bytes());
        true
    }

    fn take(&mut self, bytes: &mut [u8]) -> usize {
        let count = bytes.len().min(self.bytes.len());
        bytes.iter_mut().zip(self.bytes.drain(..count)).for_each(|(to, from)| *to = from);
        count
    }
}

/// Reads typed text as UTF-8, where `ReadFile` would return bytes of the code page; 0 at its end.
pub(super) fn read(file: &impl AsHandle, bytes: &mut [u8]) -> Result<usize> {
    let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    while typed.bytes.is_empty() && !bytes.is_empty() {
        let mut units = [0u16; 4096];
        let mut count = 0;
        let (start, most) = (units.as_mut_ptr().cast(), units.len() as u32);
        // SAFETY: the call writes at most the given number of units, and their number.
        let (read, error) = unsafe {
            SetLastError(0);
            let read = console::ReadConsoleW(raw(file) as _, start, most, &raw mut count, std::ptr::null());
            (check(read), Code::last_number())
        };
        read?;
        match count {
            // Ctrl-C was typed, whose handler decides if the process ends.
            0 if error == ERROR_OPERATION_ABORTED => {}
            0 => return Ok(0),
            count if !typed.push(&units[..count as usize]) => return Ok(0),
            _ => {}
        }
    }
    Ok(typed.take(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_utf8_however_it_is_cut() {
        let text = "grün €𝄞\r\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        for cut in 0..units.len() {
            for memory in [1, 2, 100] {
                let mut typed = Typed { bytes: VecDeque::new(), half: None };
                let mut found = Vec::new();
                for part in [&units[..cut], &units[cut..]] {
                    assert!(typed.push(part));
                    let mut bytes = vec![0; memory];
                    loop {
                        let count = typed.take(&mut bytes);
                        found.extend_from_slice(&bytes[..count]);
                        if count == 0 {
                            break;
                        }
                    }
                }
                assert_eq!(String::from_utf8(found).unwrap(), text, "{cut}, {memory}");
            }
        }
    }

    #[test]
    fn ctrl_z_at_the_start_of_a_line_ends_the_input() {
        let mut typed = Typed { bytes: VecDeque::new(), half: None };
        assert!(!typed.push(&[0x1a, 0x0d, 0x0a]));
        assert!(typed.push(&[0x61, 0x1a]) && typed.bytes == *b"a\x1a");
    }

    #[test]
    fn pipes_and_files_are_no_consoles() {
        let (reader, _writer) = super::super::pipe().unwrap();
        assert!(!is_console(&reader) && !is_console(&tempfile::tempfile().unwrap()));
    }
}
