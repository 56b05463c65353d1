//! Regular files of a tree. Most are small, so the system calls determine the time.

use std::ffi::CStr;
use std::sync::atomic::Ordering;

use super::attributes::{self, AttributeTarget};
use super::content::{Content, lengthless};
use super::directories::syncs_whole;
use super::directory::{Directory, Entry, path};
use super::failure::Copied;
use super::journal::{Journal, STRIPE};
use super::note::{has_stable_inodes, is_journal};
use super::options::{CopyEvent, CopyKind, CopyStats, Reflink};
use super::tree_copy::{TargetState, TreeCopy, Worker, Written};
use super::whole::agree;
use crate::strategy::SMALL;
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{
    Durability, File, FileStamp, Output, Placement, clones, linkable, name_unnamed, share_all,
};
use fullbore_io::sys::{
    self, AsHandle, AtFlags, BorrowedHandle, Code, FileKind, FileSystemKind, Handle, OpenFlags, SeekFrom,
    Status,
};

/// Files up to this size are read at once into a worker's memory, in bytes.
const AT_ONCE: usize = 256 << 10;

/// Below this size fewer blocks than bytes do not mean holes: file systems pack small files.
const PACKED: u64 = 64 << 10;

impl TreeCopy<'_> {
    /// Copies the bytes of a source of any kind.
    pub(super) fn regular(&self, worker: &mut Worker, entry: &Entry<'_>, kind: FileKind) -> Copied<()> {
        if self.waits(entry) {
            self.postpone(entry);
            return Ok(());
        }
        self.over_existing(worker, entry, true, |worker, found| self.regular_over(worker, entry, kind, found))
    }

    /// True for a name of a large file with several names, unless an earlier run began its copy: that name is copied before the
    /// others, so that the bytes of its part are used.
    fn waits(&self, entry: &Entry<'_>) -> bool {
        if !self.options.resume || !self.options.preserve.links || self.walked.load(Ordering::Relaxed) {
            return false;
        }
        let (Ok(stat), Ok(within)) = (entry.stat(), entry.within()) else { return false };
        if stat.kind() != FileKind::Regular || stat.nlink < 2 || stat.size < SMALL.max(STRIPE) {
            return false;
        }
        let there = sys::stat_at(&within, entry.target, AtFlags::empty());
        // Workers compare complete targets concurrently.
        let is_complete = there.is_ok_and(|there| agree(&stat, &there));
        // A journal that another run has locked is an error of this name.
        let is_begun = || is_journal(&entry.directory.target, path(entry.target).as_os_str()).unwrap_or(true);
        !is_complete && !is_begun()
    }

    fn regular_over(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        kind: FileKind,
        found: &TargetState,
    ) -> Copied<bool> {
        let (fd, stat) = self.open(entry, kind)?;
        if self.has_names(entry.directory, &stat)
            && let Some(done) = self.linked(worker, entry, &stat)?
        {
            return Ok(done);
        }
        let result = match self.options.kind {
            CopyKind::Attributes => self.attributes(entry, fd, &stat, found),
            _ => self.bytes(worker, entry, fd, &stat, found),
        };
        let stats = self.first(entry, &stat, result)?;
        worker.stats.add(&stats);
        self.created(entry, false);
        self.report_copied(entry, Some(found), Some(stats));
        Ok(true)
    }

    fn bytes(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        fd: Handle,
        stat: &Status,
        found: &TargetState,
    ) -> Result<Written<CopyStats>> {
        let directory = entry.directory;
        let names = (entry.source, entry.target);
        let len = stat.size;
        let small = len <= AT_ONCE as u64
            && stat.kind() == FileKind::Regular
            && (len < PACKED || !stat.sparse)
            && self.settings.plain(self.options);
        let nameless = !directory.fresh;
        let here = !nameless
            || matches!(found, TargetState::New)
                && self.settings.durability == Durability::None
                && linkable(&*directory.target()?);
        if small
            && here
            && let Some(written) = self.small(worker, directory, names, &fd, stat, nameless)?
        {
            return Ok(written);
        }
        self.large(entry, fd, stat, found)
    }

    /// Copies a file's attributes to the target, which keeps its bytes.
    fn attributes(
        &self,
        entry: &Entry<'_>,
        fd: Handle,
        stat: &Status,
        found: &TargetState,
    ) -> Result<Written<CopyStats>> {
        let place = || entry.target_path();
        let preserve = &self.options.preserve;
        let keep = |to: BorrowedHandle<'_>, mode: Option<u32>| {
            let (from, to) = (AttributeTarget::Open(fd.as_handle()), AttributeTarget::Open(to));
            attributes::keep(preserve, from, stat, to, mode, &place)
        };
        let identity = |file: BorrowedHandle<'_>| sys::status(file).ok().map(|stat| stat.identity());
        let there = match found {
            TargetState::There => {
                let flags = OpenFlags::WRITE | OpenFlags::NOCTTY;
                match sys::open_at(entry.within()?, entry.target, flags, 0) {
                    // A new file replaces it.
                    Err(_) if self.options.force => None,
                    there => Some(there.map_err(|error| Error::io("create", place(), error.into()))?),
                }
            }
            _ => None,
        };
        let made = if let Some(there) = there {
            keep(there.as_handle(), None)?;
            if self.settings.durability == Durability::Full {
                sys::sync_all(&there).map_err(|error| Error::io("sync", place(), error.into()))?;
            }
            identity(there.as_handle())
        } else {
            let output = match found {
                TargetState::New => self.new_output(entry)?,
                TargetState::There => self.in_place_of_old(entry).map_err(of_removal)?,
                _ => Output::create_entry_at(&entry.directory.target, path(entry.target).as_os_str())?,
            };
            let mode = output.usual_mode(attributes::usual(preserve, stat), self.umask)?;
            keep(output.file().as_handle(), Some(mode))?;
            let made = identity(output.file().as_handle());
            output.inherit_metadata(false).commit(self.settings.durability)?;
            made
        };
        Ok((CopyStats { files: 1, ..CopyStats::default() }, made))
    }

    /// Copies a file in as few calls as possible; `None` if it is longer than reported.
    fn small(
        &self,
        worker: &mut Worker,
        directory: &Directory,
        (source, target): (&CStr, &CStr),
        fd: &Handle,
        stat: &Status,
        nameless: bool,
    ) -> Result<Option<Written<CopyStats>>> {
        if worker.memory.is_empty() {
            worker.memory = vec![0; AT_ONCE + 1];
        }
        let memory = &mut worker.memory;
        let of_source = |error: Code| Error::io("read", directory.source_path(source), error.into());
        let wanted = stat.size as usize;
        let mut read = 0;
        loop {
            match sys::read(fd, &mut memory[read..]) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(Code::INTERRUPTED) => continue,
                Err(error) => return Err(of_source(error)),
            }
            // The reported length was read with room to spare: that is the end.
            if read == wanted && read < memory.len() || read == memory.len() {
                break;
            }
        }
        if (wanted == 0 || lengthless(fd, stat)) && read == memory.len() {
            // A file made by the kernel; it can be read again from its start.
            sys::seek(fd, SeekFrom::Start(0)).map_err(of_source)?;
            return Ok(None);
        }
        let now = sys::status(fd).map_err(of_source)?;
        let modified = FileStamp::of(&now) != FileStamp::of(stat);
        let changed = || Error::changed(directory.source_path(source), "modified while being read");
        // Files that the kernel generates: the length of some is nominal, and some are empty and new at each reading.
        let generated = || sys::file_system_kind(fd).is_ok_and(FileSystemKind::is_generated);
        if modified && (wanted != 0 || !generated()) || wanted != 0 && read != wanted && !lengthless(fd, stat)
        {
            return Err(changed());
        }
        let of_target = |error: Code| Error::io("create", directory.target_path(target), error.into());
        let preserve = &self.options.preserve;
        let mode = attributes::creation_mode(preserve, stat);
        let flags = OpenFlags::WRITE;
        let within = directory.target()?;
        let made = if nameless {
            match sys::open_at(&within, c".", flags | OpenFlags::UNNAMED, mode) {
                // The file system has no unnamed files.
                Err(Code::UNSUPPORTED | Code::IS_DIRECTORY | Code::INVALID) => {
                    return self.rewound(fd, of_source);
                }
                other => other.map_err(of_target)?,
            }
        } else {
            let flags = flags | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
            sys::open_at(&within, target, flags, mode).map_err(of_target)?
        };
        let mut stats = CopyStats { files: 1, ..CopyStats::default() };
        let result = self
            .fill(directory, target, fd, stat, &made, &memory[..read], &mut stats)
            .and_then(|()| match stats.cloned > 0 {
                // A clone has the bytes of a later moment.
                true if FileStamp::of(&sys::status(fd).map_err(of_source)?) != FileStamp::of(stat) => {
                    Err(changed())
                }
                _ => Ok(()),
            })
            .and_then(|()| {
                let from = AttributeTarget::Open(fd.as_handle());
                let to = AttributeTarget::Open(made.as_handle());
                let mode = attributes::later_mode(preserve, stat, &within, self.umask);
                attributes::keep(preserve, from, stat, to, mode, &|| directory.target_path(target))
            })
            .and_then(|()| self.sync_alone(&made).map_err(of_target))
            .and_then(|()| {
                sys::close_duplicate(&made)
                    .map_err(|error| Error::io("close", directory.target_path(target), error.into()))
            })
            .and_then(|()| match nameless {
                true => name_unnamed(&made, &within, path(target).as_os_str()).map_err(of_target),
                false => Ok(true),
            });
        match result {
            Ok(true) => {}
            // The file cannot be given a name here after all.
            Ok(false) => return self.rewound(fd, of_source),
            Err(error) => {
                if !nameless {
                    // An incomplete file must not remain when the directory gets its name.
                    let _ = sys::remove(&within, target, AtFlags::empty());
                }
                return Err(error);
            }
        }
        self.progress.add(read as u64);
        let identity = || sys::status(&made).ok().map(|made| made.identity());
        Ok(Some((stats, self.has_names(directory, stat).then(identity).flatten())))
    }

    /// Syncs a file that a later run may skip, or one of a new directory on systems without a call that syncs the whole
    /// directory when it gets its name.
    fn sync_alone(&self, file: &Handle) -> sys::Result<()> {
        match self.settings.durability {
            Durability::None if self.options.resume => sys::sync_data(file),
            Durability::None => Ok(()),
            _ if syncs_whole(file) => Ok(()),
            Durability::Data => sys::sync_data(file),
            _ => sys::sync_all(file),
        }
    }

    fn rewound<T>(&self, fd: &Handle, failed: impl Fn(Code) -> Error) -> Result<Option<T>> {
        sys::seek(fd, SeekFrom::Start(0)).map_err(failed)?;
        Ok(None)
    }

    #[allow(clippy::too_many_arguments, reason = "one caller")]
    fn fill(
        &self,
        directory: &Directory,
        target: &CStr,
        source: &Handle,
        stat: &Status,
        made: &Handle,
        data: &[u8],
        stats: &mut CopyStats,
    ) -> Result<()> {
        let devices = (stat.dev, directory.target.identity().0);
        if self.options.reflink == Reflink::Auto
            && stat.size > 0
            && clones(devices)
            && share_all(source, made, devices)
        {
            stats.cloned = data.len() as u64;
            return Ok(());
        }
        sys::write_all_at(made, data, 0)
            .map_err(|error| Error::io("write", directory.target_path(target), error))?;
        stats.copied = data.len() as u64;
        Ok(())
    }

    /// Copies a file with all options and methods.
    fn large(
        &self,
        entry: &Entry<'_>,
        fd: Handle,
        stat: &Status,
        found: &TargetState,
    ) -> Result<Written<CopyStats>> {
        let options = self.options;
        let directory = entry.directory;
        if stat.kind() == FileKind::Regular {
            // Not `NONBLOCK`, with which queued reads fail instead of waiting.
            sys::set_status_flags(&fd, OpenFlags::empty())
                .map_err(|error| Error::io("open", entry.source_path(), error.into()))?;
        }
        if options.resume && !matches!(stat.kind(), FileKind::Regular | FileKind::BlockDevice) {
            let what = format!("a {} cannot be read again", stat.kind());
            return Err(Error::new(ErrorKind::Unsupported, "resume", entry.source_path(), what)
                .advise("leave out resumption"));
        }
        let input = File::with_status(fd, entry.source_path(), stat)?;
        let (held, name) = (&directory.target, path(entry.target).as_os_str());
        let stored = stat.kind() == FileKind::Regular;
        let gives_way = matches!(found, TargetState::Replaced(_));
        let is_new = matches!(found, TargetState::New);
        let mut removes = matches!(found, TargetState::Replaced(None));
        let mut journal = None;
        // A short copy is not worth a journal.
        let output = if options.resume && stored && !gives_way && stat.size >= SMALL.max(STRIPE) {
            Output::resumable_at(held, name, (is_new, options.follow_dangling_links), |held, name| {
                let ino = if has_stable_inodes(&input) { stat.ino } else { 0 };
                let (opened, part) = Journal::open(held, name, &Status { ino, ..*stat })?;
                journal = Some(opened);
                Ok(part)
            })
            .map(|output| if is_new { output.only_new() } else { output })
        } else if gives_way {
            Output::create_entry_at(held, name)
        } else if is_new {
            self.new_output(entry)
        } else {
            Output::create_at(held, name, Placement::Replace, Some(&input)).map_err(of_opening)
        };
        let output = match output {
            Err(error)
                if matches!(found, TargetState::There)
                    && !matches!(error.kind(), ErrorKind::SameFile | ErrorKind::Locked) =>
            {
                match self.generated(entry)? {
                    Some(output) => Ok(output),
                    // Not a target of an unsupported kind, such as a block device.
                    None if options.force && error.kind() != ErrorKind::Unsupported => {
                        removes = true;
                        self.in_place_of_old(entry)
                    }
                    None => Err(error),
                }
            }
            other => other,
        };
        let content = Content {
            input: &input,
            options,
            settings: self.settings,
            progress: self.progress,
            report: self.report,
            turn: &self.turn,
            umask: Some(self.umask),
        };
        let result = output.and_then(|output| content.copy(stat, output, journal));
        result.map_err(|error| if removes { of_removal(error) } else { error })
    }

    /// The output of a free name: a file that takes the name meanwhile is not replaced.
    fn new_output(&self, entry: &Entry<'_>) -> Result<Output> {
        let (held, name) = (&entry.directory.target, path(entry.target).as_os_str());
        let create = match self.options.follow_dangling_links {
            true => Output::create_entry_through,
            false => Output::create_entry_at,
        };
        create(held, name).map(Output::only_new)
    }

    /// A new file in place of a target that cannot be written to.
    fn in_place_of_old(&self, entry: &Entry<'_>) -> Result<Output> {
        let output = Output::create_entry_at(&entry.directory.target, path(entry.target).as_os_str());
        if output.is_ok() && self.options.report_names {
            (self.report)(CopyEvent::Removed(entry.target_path()));
        }
        output
    }

    /// The target as an output that is written in order, if the kernel generates it: no other file can get such a name.
    fn generated(&self, entry: &Entry<'_>) -> Result<Option<Output>> {
        let within = entry.within()?;
        let open = |flags| sys::open_at(&within, entry.target, flags | OpenFlags::NOCTTY, 0);
        let kind = open(OpenFlags::PATH).and_then(|fd| sys::file_system_kind(&fd));
        if !kind.is_ok_and(FileSystemKind::is_generated) {
            return Ok(None);
        }
        let fd = open(OpenFlags::WRITE | OpenFlags::TRUNCATE)
            .map_err(|error| Error::io("create", entry.target_path(), error.into()))?;
        Ok(Some(Output::from(File::from_fd(fd, entry.target_path())?)))
    }
}

/// An error at the name of an old file that a new one replaces: `cp` removes the old file first.
fn of_removal(error: Error) -> Error {
    match error.code() {
        Some(code @ (Code::NOT_PERMITTED | Code::ACCESS_DENIED | Code::READ_ONLY))
            if matches!(error.operation(), "create" | "replace") =>
        {
            Error::io("remove", error.path(), code.into())
        }
        _ => error,
    }
}

/// An error of opening a target that is written in place, as a device.
fn of_opening(error: Error) -> Error {
    let code = match error.code() {
        // A socket, or a node whose device does not exist.
        None if error.kind() == ErrorKind::Unsupported => Some(Code::NO_SUCH_ADDRESS),
        code => code,
    };
    match code {
        Some(code) if error.operation() == "open" => Error::io("create", error.path(), code.into()),
        _ => error,
    }
}
