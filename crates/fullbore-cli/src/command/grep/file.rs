//! Searches one file: a small one is read and searched as a whole, a large one in parts by all workers, or as a whole
//! if it cannot be cut.

use std::fs;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, FileKind, FileStamp};
use fullbore::pattern::{Executor, OrderedSender, Progress, Worker};
use fullbore::sys::{self, AsHandle, OpenFlags, Status};
use fullbore_cli::common_args::CliRun;
use fullbore_cli::exit::message;
use fullbore_cli::for_each::{STANDARD_INPUT, seek_standard_input, standard_input};
use fullbore_grep::{PartOutcome, Query, ReadMode, SearchResult, SourceInfo, WholeSearcher};

use super::command::Filter;
use super::haystacks::{Haystack, Item};
use super::print::FileOutput;

/// Maximum length in bytes of files that one worker searches.
const SMALL: usize = 1 << 20;

/// Bytes of a file's results that are sent at once.
const SEND_BYTES: usize = 64 << 10;

/// State shared by all workers.
pub(crate) struct Search<'a> {
    pub(crate) query: &'a Query,
    pub(crate) run: &'a CliRun<'a>,
    /// True to treat named files as `rg` treats mapped files; `mapped_all`: all files.
    pub(crate) mapped: bool,
    pub(crate) mapped_all: bool,
    /// Selects the files that are read through a command.
    pub(crate) filter: Option<Filter>,
    pub(crate) messages: bool,
    pub(crate) remarks: bool,
    /// True once anything was searched.
    pub(crate) searched: AtomicBool,
}

enum SearchError {
    System(io::Error),
    Own(Error),
}

impl From<io::Error> for SearchError {
    fn from(error: io::Error) -> Self {
        // An error that passed through a printer may be one of the library.
        match error.downcast::<Error>() {
            Ok(error) => Self::Own(error),
            Err(error) => Self::System(error),
        }
    }
}

impl From<Error> for SearchError {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

/// The worker that searches a file, and the sender of its results.
pub(super) struct SearchWorker<'t, 'w, 'e> {
    pub(super) sender: &'t mut Sender<'w, 'e>,
    pub(super) worker: &'t mut Worker,
    pub(super) executor: &'t Executor<'t>,
}

type Sender<'w, 'e> = OrderedSender<'w, 'e, FileOutput>;

fn send(sender: &mut Sender<'_, '_>, output: FileOutput) -> fullbore::Result<ControlFlow<()>> {
    let weight = output.weight();
    sender.send(output, weight)
}

/// Sends the last output of a file with its counts.
fn send_last(
    sender: &mut Sender<'_, '_>,
    mut output: FileOutput,
    result: io::Result<SearchResult>,
) -> Result<(), SearchError> {
    if let Ok(result) = &result {
        output.lines = result.lines;
        output.count(result);
    }
    let _ = send(sender, output)?;
    result?;
    Ok(())
}

impl Search<'_> {
    /// Searches an item, and sends its results.
    pub(crate) fn item(
        &self,
        item: Item,
        here: &mut SearchWorker<'_, '_, '_>,
        searcher: &mut WholeSearcher<'static>,
    ) -> fullbore::Result<()> {
        // An unreadable file counts as searched.
        if !matches!(item, Item::Remark(_)) && !self.searched.load(Relaxed) {
            self.searched.store(true, Relaxed);
        }
        let output = match item {
            Item::Diagnostic(text) => self.diagnostic(2, text),
            Item::Remark(text) if self.messages && self.remarks => FileOutput::from_text(0, text),
            Item::Remark(_) => return Ok(()),
            Item::Haystack(haystack) => match self.one(&haystack, searcher, here) {
                Ok(Some(output)) => output,
                Ok(None) => return Ok(()),
                Err(SearchError::Own(error)) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(SearchError::Own(error)) => {
                    let status = if error.kind() == ErrorKind::Changed { 3 } else { 2 };
                    self.diagnostic(status, message(&error))
                }
                Err(SearchError::System(error)) => {
                    let mut text = format!("{}: {error}", haystack.path.display());
                    // The searcher's buffer limit has no error kind of its own.
                    if text.contains("configured allocation limit") {
                        let more = (2 * here.executor.budget()).next_power_of_two() >> 20;
                        text.push_str(&format!(
                            ": a line is longer: raise the limit, for example --memory {more}M"
                        ));
                    }
                    self.diagnostic(2, text)
                }
            },
        };
        // Most files of a directory have no match and need not be sent.
        if output.counts() { send(here.sender, output).map(drop) } else { Ok(()) }
    }

    fn diagnostic(&self, status: u8, text: String) -> FileOutput {
        let text = if self.messages { text } else { String::new() };
        FileOutput::from_text(status, text)
    }

    /// Searches a file. Results of a large file are sent; those of a small file are returned.
    fn one(
        &self,
        haystack: &Haystack,
        searcher: &mut WholeSearcher<'static>,
        here: &mut SearchWorker<'_, '_, '_>,
    ) -> Result<Option<FileOutput>, SearchError> {
        let (path, named) = (haystack.path.as_path(), haystack.named);
        if haystack.stdin {
            return self.standard_input(path, here).map(|()| None);
        }
        let started = self.filter.as_ref().map(|filter| filter.start(path)).transpose()?;
        if let Some(mut output) = started.flatten() {
            let result = self.read_whole(here, 0, path, named, &mut output);
            let closed = output.close();
            result?;
            closed?;
            return Ok(None);
        }
        let mut file: fs::File = here.worker.open_fd(path, !named).map_err(io::Error::from)?.into();
        let mapped = if named { self.mapped } else { self.mapped_all };
        let plain = here.executor.is_plain();
        if plain && let Some(bytes) = here.worker.read_unchanged(&file) {
            here.executor.progress().add(bytes.len() as u64);
            return self.small(path, named, mapped, bytes, searcher, here.sender);
        }
        let before = sys::status(&file).map_err(io::Error::from)?;
        let len = before.size;
        match before.kind() {
            FileKind::Regular if named => {}
            FileKind::Regular => sys::set_status_flags(&file, OpenFlags::empty()).map_err(io::Error::from)?,
            _ if named => return self.special(path, file, here).map(|()| None),
            // It has replaced the regular file that was listed.
            _ => return Ok(None),
        }
        // A file that reports a length of zero cannot be mapped or cut: it may be in `/proc`.
        let whole = plain || len == 0;
        let mapped = mapped && len > 0;
        let held = fill(&mut file, here.worker.buffer(), len as usize)?;
        let bytes = &here.worker.buffer()[..held];
        if whole && held <= SMALL {
            unchanged(&file, &before, path)?;
            here.executor.progress().add(held as u64);
            return self.small(path, named, mapped, bytes, searcher, here.sender);
        }
        let read_mode = if mapped { ReadMode::Mapped } else { ReadMode::Streamed };
        let opening = self.query.source_info(read_mode, named, bytes);
        file.rewind()?;
        let again = file.try_clone()?;
        let file = File::with_status(file.into(), path.into(), &before)?;
        self.large(path, named, read_mode, opening, (&file, Some(again)), here).map(|()| None)
    }

    /// Searches a file whose whole content is in memory. Its output is returned, or sent if it takes much memory.
    fn small(
        &self,
        path: &Path,
        named: bool,
        mapped: bool,
        bytes: &[u8],
        searcher: &mut WholeSearcher<'_>,
        sender: &mut Sender<'_, '_>,
    ) -> Result<Option<FileOutput>, SearchError> {
        if named {
            // Not printed for each of the many files of a directory.
            self.run.remark(&format!("{}: small: read at once by one worker", path.display()));
        }
        searcher.clear();
        let read_mode = if mapped && !bytes.is_empty() { ReadMode::Mapped } else { ReadMode::Streamed };
        let result = searcher.search_bytes(path, read_mode, named, bytes);
        if searcher.is_full() {
            searcher.clear();
            let search =
                |searcher: &mut WholeSearcher<'_>| searcher.search_bytes(path, read_mode, named, bytes);
            return self.search_whole(sender, 0, search).map(|()| None);
        }
        Ok(Some(FileOutput::from_result(&result?, searcher.printed())))
    }

    /// Searches a named device, socket or pipe.
    fn special(
        &self,
        path: &Path,
        mut file: fs::File,
        here: &mut SearchWorker<'_, '_, '_>,
    ) -> Result<(), SearchError> {
        let own = File::from_fd(file.try_clone()?.into(), path)?;
        if own.kind() == FileKind::Fifo && first_is_plain(&file) {
            let read_mode = ReadMode::Piped { stdin: false };
            let opening = self.query.source_info(read_mode, true, &[]);
            return self.large(path, true, read_mode, opening, (&own, Some(file)), here);
        }
        self.read_whole(here, 0, path, true, &mut file)
    }

    fn standard_input(&self, path: &Path, here: &mut SearchWorker<'_, '_, '_>) -> Result<(), SearchError> {
        let _turn = STANDARD_INPUT.lock();
        let file = standard_input()?.stamped()?;
        let mut first = vec![0; SourceInfo::BYTES];
        let read_mode = match file.seekable_len()? {
            Some(len) if len > SMALL as u64 => {
                file.read_exact_at(&mut first, 0).map_err(Error::of_shortened)?;
                ReadMode::Streamed
            }
            None if file.kind() == FileKind::Fifo && first_is_plain(&io::stdin()) => {
                first.clear();
                ReadMode::Piped { stdin: true }
            }
            _ => {
                let before = file.starting_stamp()?;
                self.read_whole(here, 0, path, true, &mut io::stdin().lock())?;
                // Files that the kernel generates have no length.
                return if before.len > 0 { Ok(file.check_unchanged(&before)?) } else { Ok(()) };
            }
        };
        let opening = self.query.source_info(read_mode, true, &first);
        self.large(path, true, read_mode, opening, (&file, None), here)?;
        if let Some(len) = file.seekable_len()? {
            seek_standard_input(len);
        }
        Ok(())
    }

    /// Searches a file in parts or as a whole. The second of the two handles reads it as a whole; `None`: standard
    /// input.
    fn large(
        &self,
        path: &Path,
        named: bool,
        read_mode: ReadMode,
        opening: SourceInfo,
        (file, again): (&File, Option<fs::File>),
        here: &mut SearchWorker<'_, '_, '_>,
    ) -> Result<(), SearchError> {
        let (mut printed, mut long) = (0, false);
        if let Some(why) = self.query.whole_file_reason(opening) {
            self.run.remark(&format!("{}: searched as a whole by one worker: {why}", path.display()));
        } else {
            let Some(again) = self.parts(path, opening, file, here)? else { return Ok(()) };
            (printed, long) = (again.printed, again.long);
            let (path, why) = (path.display(), again.reason);
            self.run.remark(&format!("{path}: searched again as a whole by one worker: {why}"));
        }
        let regular = file.kind() == FileKind::Regular;
        let before = regular.then(|| file.starting_stamp()).transpose()?;
        let len = match read_mode {
            ReadMode::Piped { .. } => None,
            _ => file.seekable_len()?,
        };
        let maps = |len: &u64| {
            long || read_mode == ReadMode::Mapped
                || self.query.settings().multiline
                || self.query.settings().longest_line.is_some_and(|most| *len > most as u64)
        };
        // A file that cannot be mapped is read.
        let window = len.filter(maps).and_then(|len| Some((len, file.map(0..len).ok()?)));
        if let Some((len, window)) = window {
            self.search_whole(here.sender, printed, |searcher| {
                window
                    .in_place(|bytes| searcher.search_bytes(path, read_mode, named, bytes))
                    .map_err(io::Error::other)?
            })?;
            here.executor.progress().add(len);
        } else {
            match again {
                Some(mut file) => {
                    // Parts of a file without a length are read from its position.
                    if regular {
                        file.rewind()?;
                    }
                    self.read_whole(here, printed, path, named, &mut file)?;
                }
                None => self.read_whole(here, printed, path, named, &mut io::stdin().lock())?,
            }
        }
        Ok(before.map_or(Ok(()), |before| file.check_unchanged(&before))?)
    }

    /// Searches a file in parts; returns the reason if it must be searched as a whole.
    fn parts(
        &self,
        path: &Path,
        opening: SourceInfo,
        file: &File,
        here: &mut SearchWorker<'_, '_, '_>,
    ) -> Result<Option<SearchAgain>, SearchError> {
        let parts = self.query.part_searcher(path, opening);
        let mut page = self.query.file_printer(path, opening);
        let (mut out, mut begins, mut again) = (Vec::new(), true, None);
        let at_once = !file.seekable();
        let SearchWorker { sender, worker, executor } = here;
        let searched = executor.search(&parts, file, worker, |found| {
            let taken = page.take(found, &mut out);
            if let PartOutcome::SearchWhole(reason) = taken {
                again = Some(reason);
            }
            if out.len() >= SEND_BYTES || (at_once && !out.is_empty()) {
                let output = FileOutput::of_lines(std::mem::take(&mut out), std::mem::take(&mut begins));
                if send(sender, output)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(if taken.more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        let printed = page.printed();
        // A file with a length can be mapped.
        let long = searched.as_ref().is_err_and(|error| error.kind() == ErrorKind::Memory) && file.seekable();
        if let Some(reason) = again.or(long.then_some("it has a very long line")) {
            let _ = send(sender, FileOutput::of_lines(out, begins))?;
            return Ok(Some(SearchAgain { printed, long, reason }));
        }
        let result = match searched {
            Ok(_) => page.finish(&mut out),
            // Results found so far are printed before the error.
            Err(error) => Err(io::Error::other(error)),
        };
        send_last(sender, FileOutput::of_lines(out, begins), result).map(|()| None)
    }

    /// Searches the bytes of a reader as a whole, and sends its output except for the first `printed` bytes.
    fn read_whole(
        &self,
        here: &mut SearchWorker<'_, '_, '_>,
        printed: u64,
        path: &Path,
        named: bool,
        reader: &mut dyn Read,
    ) -> Result<(), SearchError> {
        let mut reader = CountedReader { reader, progress: here.executor.progress() };
        self.search_whole(here.sender, printed, |searcher| searcher.search_reader(path, named, &mut reader))
    }

    /// Searches a file as a whole, and sends its output except for the first `printed` bytes.
    fn search_whole(
        &self,
        sender: &mut Sender<'_, '_>,
        printed: u64,
        search: impl FnOnce(&mut WholeSearcher<'_>) -> io::Result<SearchResult>,
    ) -> Result<(), SearchError> {
        let (mut left_out, mut begins) = (printed, printed == 0);
        let mut rest = Vec::new();
        let mut enough = false;
        let result = {
            let mut searcher = self.query.streaming_searcher(|bytes| {
                let skipped = bytes.len().min(left_out as usize);
                left_out -= skipped as u64;
                let bytes = bytes[skipped..].to_vec();
                if bytes.is_empty() {
                    return Ok(());
                }
                let output = FileOutput::of_lines(bytes, std::mem::take(&mut begins));
                match send(sender, output).map_err(io::Error::other)? {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => {
                        enough = true;
                        Err(io::ErrorKind::BrokenPipe.into())
                    }
                }
            });
            let result = search(&mut searcher);
            rest.extend_from_slice(searcher.printed());
            result
        };
        if enough {
            return Ok(());
        }
        let bytes = rest.split_off(rest.len().min(left_out as usize));
        send_last(sender, FileOutput::of_lines(bytes, begins), result)
    }
}

/// A file found in parts to need a search as a whole.
struct SearchAgain {
    /// Number of bytes already printed.
    printed: u64,
    /// True for a very long line.
    long: bool,
    reason: &'static str,
}

/// A reader whose bytes are counted.
struct CountedReader<'a> {
    reader: &'a mut dyn Read,
    progress: &'a Progress,
}

impl Read for CountedReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(bytes)?;
        self.progress.add(count as u64);
        Ok(count)
    }
}

/// Reads until the buffer is full or the end of the file is reached. At the reported length (0: unknown) no further
/// read looks for the end: a file that has grown since is not [`unchanged`].
fn fill(file: &mut fs::File, bytes: &mut [u8], len: usize) -> io::Result<usize> {
    let mut held = 0;
    while held < bytes.len() {
        match file.read(&mut bytes[held..]) {
            Ok(0) => break,
            Ok(count) => {
                held += count;
                if held == len {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

/// Fails if a regular file is not as it was `before` reading: the bytes read may mix two states of it.
fn unchanged(file: &fs::File, before: &Status, path: &Path) -> Result<(), SearchError> {
    let now = sys::status(file).map_err(io::Error::from)?;
    if before.kind() == FileKind::Regular && FileStamp::of(&now) != FileStamp::of(before) {
        return Err(Error::new(ErrorKind::Changed, "read", path, "modified while being read").into());
    }
    Ok(())
}

/// True if the first byte in a pipe does not begin a byte order mark. The byte stays in the pipe. `false` if peeking is
/// not possible.
fn first_is_plain(pipe: &impl AsHandle) -> bool {
    let Ok((reader, writer)) = sys::pipe() else { return false };
    let mut byte = [0];
    match sys::tee(pipe, &writer, 1) {
        // An empty pipe has no byte order mark.
        Ok(0) => true,
        Ok(_) => matches!(sys::read(&reader, &mut byte), Ok(1)) && !matches!(byte[0], 0xef | 0xff | 0xfe),
        Err(_) => false,
    }
}
