//! One file: a small one is read and searched as a whole, a large one in parts by all workers, or as a whole where it cannot
//! be cut.

use std::fs;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fullbore::error::{Error, Kind};
use fullbore::file::{File, FileKind};
use fullbore::pattern::{Executor, OrderedSender, Worker};
use fullbore_cli::ways::Running;
use fullbore_grep::{Arrival, Opening, Query, Taken, Tool};
use rustix::fs::{FileType, Stat};

use super::command::Filter;
use super::haystacks::{Haystack, Item};
use super::print::Piece;

/// Files up to this long are searched by one worker, in bytes.
const SMALL: usize = 1 << 20;

/// How much of a file's results is handed on at once, in bytes.
const MUCH: usize = 64 << 10;

/// What all workers search with.
pub(crate) struct Search<'a> {
    pub(crate) query: &'a Query,
    pub(crate) running: &'a Running<'a>,
    /// Named files arrive as `rg` maps them, all files if it was asked to.
    pub(crate) mapped: bool,
    pub(crate) mapped_all: bool,
    /// Which files a command reads.
    pub(crate) filter: Option<Filter>,
    pub(crate) messages: bool,
    pub(crate) remarks: bool,
    /// Whether anything was searched.
    pub(crate) searched: AtomicBool,
}

/// What went wrong with a file.
enum Trouble {
    System(io::Error),
    Own(Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        // What came through a printer may be an error of ours.
        match error.downcast::<Error>() {
            Ok(error) => Self::Own(error),
            Err(error) => Self::System(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

type Sender<'t, 'w, 'e> = &'t mut OrderedSender<'w, 'e, Piece>;

impl Search<'_> {
    /// Searches an item, and gives what comes of it to its turn.
    pub(crate) fn item(
        &self,
        item: Item,
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        tool: &mut Tool<'static>,
        executor: &Executor<'_>,
    ) -> fullbore::Result<()> {
        // A file that could not be read was one to search.
        if !matches!(item, Item::Remark(_)) && !self.searched.load(Relaxed) {
            self.searched.store(true, Relaxed);
        }
        let piece = match item {
            Item::Trouble(text) => self.trouble(2, text),
            Item::Remark(text) if self.messages && self.remarks => Piece::of_words(0, text),
            Item::Remark(_) => return Ok(()),
            Item::Haystack(haystack) => match self.one(&haystack, tool, sender, worker, executor) {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(()),
                Err(Trouble::Own(error)) if error.kind() == Kind::Interrupted => return Err(error),
                Err(Trouble::Own(error)) => {
                    let status = if error.kind() == Kind::Changed { 3 } else { 2 };
                    self.trouble(status, error.to_string())
                }
                Err(Trouble::System(error)) => {
                    let mut text = format!("{}: {error}", haystack.path.display());
                    // The searcher's limit on its buffer has no kind of its own.
                    if text.contains("configured allocation limit") {
                        let more = (2 * executor.budget()).next_power_of_two() >> 20;
                        text.push_str(&format!(
                            ": a line is longer; grant more memory, such as --memory {more}M"
                        ));
                    }
                    self.trouble(2, text)
                }
            },
        };
        // Most files of a directory have nothing of what is looked for.
        if piece.counts() { send(sender, piece).map(drop) } else { Ok(()) }
    }

    fn trouble(&self, status: u8, text: String) -> Piece {
        let text = if self.messages { text } else { String::new() };
        Piece::of_words(status, text)
    }

    /// Searches a file. What comes of a large one is given to its turn, what comes of a small one is the result.
    fn one(
        &self,
        haystack: &Haystack,
        tool: &mut Tool<'static>,
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<Option<Piece>, Trouble> {
        let (path, named) = (haystack.path.as_path(), haystack.named);
        if haystack.stdin {
            return self.standard_input(path, sender, worker, executor).map(|()| None);
        }
        let started = self.filter.as_ref().map(|filter| filter.start(path)).transpose()?;
        if let Some(mut output) = started.flatten() {
            let result = self.whole(sender, 0, |tool| tool.search_reader(path, named, &mut output));
            let closed = output.close();
            result?;
            closed?;
            return Ok(None);
        }
        let beside = worker.open_beside(path);
        let mut file = beside.map_or_else(|| fs::File::open(path), |fd| Ok(fd.into()))?;
        let mapped = if named { self.mapped } else { self.mapped_all };
        if let Some(bytes) = worker.read_settled(&file) {
            executor.progress().add(bytes.len() as u64);
            return self.small(path, named, mapped, bytes, tool).map(Some);
        }
        let before = rustix::fs::fstat(&file).map_err(io::Error::from)?;
        if (named || mapped) && FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return self.special(path, file, sender, worker, executor).map(|()| None);
        }
        // What says that it is empty cannot be mapped: it may be of `/proc`.
        let mapped = mapped && before.st_size > 0;
        let held = fill(&mut file, worker.buffer(), before.st_size as usize)?;
        executor.progress().add(held as u64);
        let bytes = &worker.buffer()[..held];
        if held <= SMALL {
            unchanged(&file, &before, path)?;
            return self.small(path, named, mapped, bytes, tool).map(Some);
        }
        let arrival = if mapped { Arrival::Mapped } else { Arrival::Streamed };
        let opening = self.query.opening(arrival, named, bytes);
        file.rewind()?;
        let again = file.try_clone()?;
        let file = File::from_fd(file.into(), path)?;
        self.large(path, named, arrival, opening, (&file, Some(again)), sender, worker, executor)
            .map(|()| None)
    }

    /// Searches a file that is in memory as a whole.
    fn small(
        &self,
        path: &Path,
        named: bool,
        mapped: bool,
        bytes: &[u8],
        tool: &mut Tool<'_>,
    ) -> Result<Piece, Trouble> {
        if named {
            // Of the many of a directory nobody wants to read that.
            self.running.remark(&format!("{}: read at once, by one worker: it is small", path.display()));
        }
        tool.clear();
        let arrival = if mapped && !bytes.is_empty() { Arrival::Mapped } else { Arrival::Streamed };
        let told = tool.search_bytes(path, arrival, named, bytes)?;
        Ok(Piece::of_whole(&told, tool.printed()))
    }

    /// A device, a socket or a pipe with a name.
    fn special(
        &self,
        path: &Path,
        mut file: fs::File,
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<(), Trouble> {
        let own = File::from_fd(file.try_clone()?.into(), path)?;
        if own.kind() == FileKind::Fifo && first_is_plain(&file) {
            let opening = self.query.opening(Arrival::Piped, true, &[]);
            return self.large(
                path,
                true,
                Arrival::Piped,
                opening,
                (&own, Some(file)),
                sender,
                worker,
                executor,
            );
        }
        self.whole(sender, 0, |tool| tool.search_reader(path, true, &mut file))
    }

    fn standard_input(
        &self,
        path: &Path,
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<(), Trouble> {
        let file = File::stdin()?;
        let mut first = vec![0; Opening::BYTES];
        let arrival = match file.seekable_len()? {
            Some(len) if len > SMALL as u64 => {
                let count = file.read_at(&mut first, 0)?;
                first.truncate(count);
                Arrival::Streamed
            }
            None if file.kind() == FileKind::Fifo && first_is_plain(&io::stdin()) => {
                first.clear();
                Arrival::Piped
            }
            _ => {
                return self.whole(sender, 0, |tool| tool.search_reader(path, true, &mut io::stdin().lock()));
            }
        };
        let opening = self.query.opening(arrival, true, &first);
        self.large(path, true, arrival, opening, (&file, None), sender, worker, executor)
    }

    /// In parts, or as a whole. The second of the files is read as a whole, standard input if it is none.
    #[allow(clippy::too_many_arguments)]
    fn large(
        &self,
        path: &Path,
        named: bool,
        arrival: Arrival,
        opening: Opening,
        (file, again): (&File, Option<fs::File>),
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<(), Trouble> {
        let (mut printed, mut long) = (0, false);
        if let Some(why) = self.query.uncut(opening) {
            self.running.remark(&format!("{}: searched by one worker as a whole: {why}", path.display()));
        } else {
            let why = match self.parts(path, opening, file, sender, worker, executor)? {
                Parted::Done => return Ok(()),
                Parted::Again(count, why) => {
                    printed = count;
                    why
                }
            };
            long = why == Why::Long;
            let why = if long { "a line of it is very long" } else { "there is a NUL in it" };
            let path = path.display();
            self.running.remark(&format!("{path}: searched again by one worker as a whole: {why}"));
        }
        let before = rustix::fs::fstat(file).map_err(io::Error::from)?;
        let len = if arrival == Arrival::Piped { None } else { file.seekable_len()? };
        if let Some(len) = len
            && (long || arrival == Arrival::Mapped || self.query.settings().multiline)
        {
            let window = file.map(0..len)?;
            self.whole(sender, printed, |tool| {
                window
                    .with(|bytes| tool.search_bytes(path, arrival, named, bytes))
                    .map_err(io::Error::other)?
            })?;
        } else {
            self.whole(sender, printed, |tool| match again {
                Some(mut file) => tool.search_reader(path, named, &mut file),
                None => tool.search_reader(path, named, &mut io::stdin().lock()),
            })?;
        }
        unchanged(file, &before, path)
    }

    fn parts(
        &self,
        path: &Path,
        opening: Opening,
        file: &File,
        sender: Sender<'_, '_, '_>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<Parted, Trouble> {
        let parts = self.query.parts(path, opening);
        let mut page = self.query.page(path, opening);
        let (mut out, mut begins, mut again) = (Vec::new(), true, false);
        let at_once = !file.seekable();
        let searched = executor.search(&parts, file, worker, |found| {
            let taken = page.take(found, &mut out);
            again |= taken == Taken::Again;
            if out.len() >= MUCH || (at_once && !out.is_empty()) {
                let bytes = std::mem::take(&mut out);
                let piece =
                    Piece { bytes, begins: std::mem::take(&mut begins), lines: true, ..Piece::default() };
                if send(sender, piece)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(if taken.more() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        let printed = page.printed();
        // What has a length can be mapped.
        let long = searched.as_ref().is_err_and(|error| error.kind() == Kind::Memory) && file.seekable();
        again |= long;
        let told = match (searched, again) {
            (Ok(_), false) => page.finish(&mut out),
            // What was found so far is printed before what went wrong is said.
            (_, true) => Ok(Default::default()),
            (Err(error), _) => Err(io::Error::other(error)),
        };
        let bytes = std::mem::take(&mut out);
        let mut piece = Piece { bytes, begins, lines: true, ..Piece::default() };
        if let (Ok(told), false) = (&told, again) {
            piece.lines = told.lines;
            piece.count(told);
        }
        let _ = send(sender, piece)?;
        told?;
        let why = if long { Why::Long } else { Why::Nul };
        Ok(if again { Parted::Again(printed, why) } else { Parted::Done })
    }

    /// Searches something as a whole, and hands on what is printed but for the first `printed` bytes.
    fn whole(
        &self,
        sender: Sender<'_, '_, '_>,
        printed: u64,
        search: impl FnOnce(&mut Tool<'_>) -> io::Result<fullbore_grep::Told>,
    ) -> Result<(), Trouble> {
        let (mut left_out, mut begins) = (printed, printed == 0);
        let mut rest = Vec::new();
        let mut enough = false;
        let told = {
            let mut tool = self.query.streaming_tool(|bytes| {
                let skipped = bytes.len().min(left_out as usize);
                left_out -= skipped as u64;
                let bytes = bytes[skipped..].to_vec();
                if bytes.is_empty() {
                    return Ok(());
                }
                let piece =
                    Piece { bytes, begins: std::mem::take(&mut begins), lines: true, ..Piece::default() };
                match send(sender, piece).map_err(io::Error::other)? {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => {
                        enough = true;
                        Err(io::ErrorKind::BrokenPipe.into())
                    }
                }
            });
            let told = search(&mut tool);
            rest.extend_from_slice(tool.printed());
            told
        };
        if enough {
            return Ok(());
        }
        let bytes = rest.split_off(rest.len().min(left_out as usize));
        let mut piece = Piece { bytes, begins, lines: true, ..Piece::default() };
        if let Ok(told) = &told {
            piece.lines = told.lines;
            piece.count(told);
        }
        let _ = send(sender, piece)?;
        told?;
        Ok(())
    }
}

/// How a search in parts ended.
enum Parted {
    Done,
    /// The file must be searched as a whole; so many bytes were printed.
    Again(u64, Why),
}

/// What the parts of a file cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Nul,
    Long,
}

fn send(sender: Sender<'_, '_, '_>, piece: Piece) -> fullbore::Result<ControlFlow<()>> {
    let weight = piece.weight();
    sender.send(piece, weight)
}

/// Reads until the buffer is full or the file at its end: where it ends by its length (0: unknown), no read has to find out,
/// for a file that has grown meanwhile is not [`unchanged`].
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

/// Fails if a regular file is not as it was `before` it was read: what was read may be parts of two states of it.
fn unchanged(file: &impl AsFd, before: &Stat, path: &Path) -> Result<(), Trouble> {
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    let now = rustix::fs::fstat(file).map_err(io::Error::from)?;
    let look = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if look(&now) != look(before) {
        let what = "the file was modified while it was read";
        return Err(Error::new(Kind::Changed, "trust", path, what).into());
    }
    Ok(())
}

/// Whether the first byte in a pipe begins no byte order mark. It stays in the pipe. Where it cannot be looked at, `false`.
fn first_is_plain(pipe: &impl AsFd) -> bool {
    use rustix::pipe::{SpliceFlags, pipe as new_pipe, tee};
    let Ok((reader, writer)) = new_pipe() else { return false };
    let mut byte = [0];
    match tee(pipe, &writer, 1, SpliceFlags::empty()) {
        // An empty pipe has nothing that could be taken for one.
        Ok(0) => true,
        Ok(_) => {
            matches!(rustix::io::read(&reader, &mut byte), Ok(1)) && !matches!(byte[0], 0xef | 0xff | 0xfe)
        }
        Err(_) => false,
    }
}
