//! Inputs of `wc`: names from the command line or from a list, standard input in its place among them, and reliable
//! file lengths.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::vec;

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, FileKind};
use fullbore::lock::{Condvar, Mutex};
use fullbore::operation::{Count, CountState, Counts, Encoding, Fold};
use fullbore::sys::{self, OsStrExt, OsStringExt};

use fullbore_cli::exit::{Exit, program, reason, system_reason};
use fullbore_cli::for_each::{seek_standard_input, standard_input, standard_stream};
use fullbore_cli::values::is_stdio;

pub(super) enum Input {
    File(PathBuf),
    /// Standard input: read by one worker at a time, in the order of the arguments.
    Standard {
        named: bool,
        /// Number of uses of standard input before this one.
        turn: u64,
    },
    /// An invalid name, with its message.
    Diagnostic(String),
}

pub(super) struct Diagnostic {
    pub(super) message: String,
    /// The resulting exit code.
    pub(super) code: u8,
}

impl Diagnostic {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    pub(super) fn of(name: &Path, error: &Error, encoding: Encoding) -> Self {
        let message = format!("{}: {}", encoding.quoted(name, false), system_reason(error));
        Self { message, code: if error.kind() == ErrorKind::Changed { 3 } else { 1 } }
    }

    pub(super) fn line(&self) -> String {
        format!("{}: {}\n", program("wc"), self.message)
    }

    pub(super) fn fatal(self) -> Exit {
        Exit::eprint(&self.line());
        Exit::Reported(1)
    }
}

pub(super) struct FileResult {
    /// Name in its line; none for standard input that was not named.
    pub(super) name: Option<PathBuf>,
    /// Counts for its line, if there is one: a directory has zeros.
    pub(super) counts: Option<Counts>,
    pub(super) diagnostic: Option<Diagnostic>,
}

/// Lists up to this many bytes are read before counting, so that the columns have the right width.
const LIST: u64 = 10 << 20;

pub(super) struct Inputs {
    names: Names,
    encoding: Encoding,
    /// The list of names, if they are not on the command line.
    list: Option<PathBuf>,
    number: u64,
    turns: u64,
}

enum Names {
    /// No input was named.
    None {
        done: bool,
    },
    Known(vec::IntoIter<PathBuf>),
    Coming(NameReader),
}

/// A list of names that end with NUL, as they arrive.
struct NameReader(BufReader<fs::File>);

/// A name longer than this, in bytes, ends the list: it is not a list of names, and may have no end.
const LONGEST_NAME: u64 = 1 << 20;

impl Iterator for NameReader {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut name = Vec::new();
        match (&mut self.0).take(LONGEST_NAME).read_until(0, &mut name) {
            Ok(0) => return None,
            Ok(count) if count as u64 == LONGEST_NAME && !name.ends_with(&[0]) => {
                return Some(Err(io::Error::other("a name has more than 1 MiB: separate names by NUL")));
            }
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        name.pop_if(|last| *last == 0);
        Some(Ok(name))
    }
}

impl Inputs {
    /// Creates the inputs from the command line, a list, or standard input.
    pub(super) fn new(
        named: Option<Vec<PathBuf>>,
        list: Option<&Path>,
        encoding: Encoding,
    ) -> Result<Self, Diagnostic> {
        let names = match (named, list) {
            (Some(names), Some(_)) => {
                let first = names.first().map(|name| encoding.quoted(name, true)).unwrap_or_default();
                return Err(Diagnostic::new(format!(
                    "extra operand {first}\nfile operands cannot be combined with --files0-from\nTry '{} --help' for more information.",
                    program("wc")
                )));
            }
            (None, None) => Names::None { done: false },
            (Some(names), None) => Names::Known(names.into_iter()),
            (None, Some(list)) => listed(list, encoding)?,
        };
        Ok(Self { names, encoding, list: list.map(Path::to_owned), number: 0, turns: 0 })
    }

    /// Returns the names if they are known before counting; a single `-` if no input was named.
    pub(super) fn known(&self) -> Option<Vec<&Path>> {
        match &self.names {
            Names::None { .. } => Some(vec![Path::new("-")]),
            Names::Known(names) => Some(names.as_slice().iter().map(PathBuf::as_path).collect()),
            Names::Coming(_) => None,
        }
    }

    fn standard_input(&mut self, named: bool) -> Input {
        self.turns += 1;
        Input::Standard { named, turn: self.turns - 1 }
    }

    fn input(&mut self, name: PathBuf) -> Input {
        self.number += 1;
        let listed_in = |list: &Path| self.encoding.quoted(list, false);
        match (name.as_os_str().as_bytes(), self.list.as_deref()) {
            (b"", None) => Input::Diagnostic("invalid zero-length file name".to_owned()),
            (b"", Some(list)) => Input::Diagnostic(format!(
                "{}:{}: invalid zero-length file name",
                listed_in(list),
                self.number
            )),
            (b"-", Some(list)) if is_stdio(list) => Input::Diagnostic(
                "when reading file names from stdin, no file name of '-' allowed".to_owned(),
            ),
            (b"-", _) => self.standard_input(true),
            _ => Input::File(name),
        }
    }
}

impl Iterator for Inputs {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        let name = match &mut self.names {
            Names::None { done } => {
                return (!std::mem::replace(done, true)).then(|| self.standard_input(false));
            }
            Names::Known(names) => names.next()?,
            Names::Coming(names) => match names.next()? {
                Ok(name) => path(name),
                Err(error) => {
                    self.names = Names::Known(Vec::new().into_iter());
                    let list = self.list.clone().unwrap_or_default();
                    let list = self.encoding.quoted(&list, false);
                    return Some(Input::Diagnostic(format!("{list}: read error: {}", reason(&error))));
                }
            },
        };
        Some(self.input(name))
    }

    /// The number of inputs, if it is known: one file is counted by all workers.
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.names {
            Names::None { done } => {
                let left = usize::from(!done);
                (left, Some(left))
            }
            Names::Known(names) => names.size_hint(),
            Names::Coming(_) => (0, None),
        }
    }
}

fn listed(list: &Path, encoding: Encoding) -> Result<Names, Diagnostic> {
    let file = match is_stdio(list) {
        true => standard_stream(),
        false => fs::File::open(list),
    };
    let file = file.map_err(|error| {
        let list = encoding.quoted(list, true);
        Diagnostic::new(format!("cannot open {list} for reading: {}", reason(&error)))
    })?;
    let short = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= LIST);
    let names = BufReader::with_capacity(64 << 10, file);
    if !short {
        return Ok(Names::Coming(NameReader(names)));
    }
    let names: io::Result<Vec<_>> = names.split(0).map(|name| name.map(path)).collect();
    names
        .map(|names| Names::Known(names.into_iter()))
        .map_err(|_| Diagnostic::new(format!("cannot read file names from {}", encoding.quoted(list, true))))
}

fn path(name: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(name).into()
}

/// Standard input, handed to its users one after the other.
pub(super) struct StandardInput {
    /// The number of the next user; `None` after the run has failed, since some users will not read then.
    next: Mutex<Option<u64>>,
    done: Condvar,
}

/// Ends the waits for standard input if it is dropped, by an error or a panic.
pub(super) struct EndsWaits<'a>(&'a StandardInput);

impl EndsWaits<'_> {
    pub(super) fn passed(self) {
        std::mem::forget(self);
    }
}

impl Drop for EndsWaits<'_> {
    fn drop(&mut self) {
        *self.0.next.lock() = None;
        self.0.done.notify_all();
    }
}

impl StandardInput {
    pub(super) fn new() -> Self {
        Self { next: Mutex::new(Some(0)), done: Condvar::default() }
    }

    pub(super) fn ends_waits(&self) -> EndsWaits<'_> {
        EndsWaits(self)
    }

    /// # Errors
    /// Those of `read`; as after a cancellation if the run has failed.
    pub(super) fn in_order<T>(
        &self,
        turn: u64,
        read: impl FnOnce(&File) -> fullbore::Result<T>,
    ) -> fullbore::Result<T> {
        let mut next = self.next.lock();
        while next.ok_or_else(fullbore::Error::cancelled)? < turn {
            next = self.done.wait(next);
        }
        drop(next);
        let result = standard_input().and_then(|file| read(&file));
        if let Some(next) = &mut *self.next.lock() {
            *next += 1;
        }
        self.done.notify_all();
        result
    }
}

/// Lengths that are a multiple of a page and at most this many bytes may be wrong: the kernel generates such files when
/// they are read (procfs reports 0, sysfs a page).
const UNRELIABLE_SIZE: u64 = 64 << 10;

/// True if the reported length of a file may be wrong.
pub(super) fn size_is_unreliable(file: &File) -> fullbore::Result<bool> {
    if file.kind() != FileKind::Regular {
        return Ok(false);
    }
    let len = file.starting_stamp()?.len;
    Ok(len <= UNRELIABLE_SIZE && len % sys::page_size() as u64 == 0)
}

/// Returns the current offset of a file: standard input may have been read partly before.
fn start(standard: bool) -> u64 {
    if standard { sys::position(sys::stdin()).unwrap_or(0) } else { 0 }
}

/// Counts a file from its current offset to its end, which may be before its reported length.
pub(super) fn read_to_the_end(file: &File, count: &Count, standard: bool) -> fullbore::Result<CountState> {
    let mut buffer = vec![0; UNRELIABLE_SIZE as usize];
    let (mut state, mut at) = (count.identity(), start(standard));
    let before = file.starting_stamp()?;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => break,
            read => {
                count.block(&mut state, at, &buffer[..read]);
                at += read as u64;
            }
        }
        // The kernel reports no length for longer files that it generates.
        if before.len > 0 && at > before.len {
            return Err(Error::changed(file.path(), "extended while being read"));
        }
    }
    if before.len > 0 && at == before.len {
        file.check_unchanged(&before)?;
    }
    if standard {
        seek_standard_input(at);
    }
    Ok(state)
}

/// Returns the number of bytes after the current offset of a regular file without reading them; `None` for all others.
/// If the length may be wrong, the file is read from its last page on; a short file generated by the kernel is read
/// whole that way.
pub(super) fn length(file: &File, standard: bool) -> fullbore::Result<Option<u64>> {
    if file.kind() != FileKind::Regular {
        return Ok(None);
    }
    let len = file.starting_stamp()?.len;
    let start = start(standard);
    let page = sys::page_size() as u64;
    if len % page != 0 {
        // As with wc, the offset of standard input stays: nothing was read.
        return Ok(Some(len.saturating_sub(start)));
    }
    let mut end = start.max(len - len % (page + 1));
    let mut buffer = vec![0; 16 << 10];
    loop {
        match file.read_at(&mut buffer, end)? {
            0 => break,
            read => end += read as u64,
        }
    }
    if standard {
        seek_standard_input(end);
    }
    Ok(Some(end - start))
}
