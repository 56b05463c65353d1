//! `fullbore probe`: all facts of a path, and the access methods tried on it.

use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::engine::{self, Availability, CachePolicy, METHODS, Method};
use fullbore::error::{ErrorKind, without_code};
use fullbore::file::{File, FileKind, Output};
use fullbore::probe::{self, EngineFact, Facts};
use fullbore::quote::Shown;
use fullbore::sys;

use super::print_json;
use crate::exit::Exit;

/// Print the facts of a path: file system, device, layout, page cache and usable access methods
///
/// Files are read, never written. For a file, a temporary file is created beside it, as the target of methods that copy from
/// file to file, and removed. In a directory, two temporary files are created, tried and removed. Pipes, sockets and
/// character devices are not opened.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 done, 2 error.")]
pub(crate) struct Probe {
    /// File, directory or device
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

impl Probe {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let mut facts =
            probe::facts(&self.path).map_err(|error| Exit::failure(explained(&self.path, &error)))?;
        facts.engines = engines(&self.path, &facts);
        if self.json { print_json(&facts) } else { Exit::print(&probe::human(&facts)) }
    }
}

fn explained(path: &Path, error: &fullbore::Error) -> String {
    match (error.kind(), path.symlink_metadata()) {
        (ErrorKind::NotFound, Ok(link)) if link.is_symlink() => {
            let target = path.read_link().unwrap_or_default();
            format!("{}: dangling symbolic link to {}", Shown(path), Shown(&target))
        }
        (ErrorKind::NotFound, _) => {
            format!("{}: no such file: name an existing file, directory or device", Shown(path))
        }
        _ => error.to_string(),
    }
}

/// Tries each method on the path.
fn engines(path: &Path, facts: &Facts) -> Vec<EngineFact> {
    let every = |fact: &dyn Fn(&'static Method) -> EngineFact| {
        METHODS.iter().copied().filter(|method| method.capabilities.storage).map(fact).collect()
    };
    let tried = |files: Result<ProbeFiles, String>| match &files {
        Ok(files) => every(&|method| files.try_out(method)),
        Err(reason) => every(&|method| fact(method, Err(format!("not tried: {reason}")), None)),
    };
    // Only one method reads such paths, sequentially. They are not opened: opening a pipe blocks until its other end is
    // open, and opening some devices changes them.
    let without_offsets = |why: &str| {
        every(&|method| match method.name {
            "buffered" => fact(method, Ok(()), Some("sequentially, by read and write".into())),
            _ => fact(method, Err(why.to_owned()), None),
        })
    };
    match facts.kind {
        FileKind::Directory => tried(ProbeFiles::in_directory(path)),
        FileKind::Regular if is_generated_on_read(facts) => {
            without_offsets("its content is generated when it is read")
        }
        FileKind::Regular | FileKind::BlockDevice => tried(ProbeFiles::file(path)),
        FileKind::Fifo => without_offsets("a pipe has no offsets"),
        FileKind::CharacterDevice => without_offsets("a character device has no offsets"),
        _ => every(&|method| fact(method, Err("it cannot be opened by name".into()), None)),
    }
}

fn fact(method: &Method, result: Result<(), String>, note: Option<String>) -> EngineFact {
    EngineFact {
        name: method.name.to_owned(),
        summary: method.summary.to_owned(),
        works: result.is_ok(),
        reason: result.err(),
        note,
    }
}

/// True for a file that the kernel generates: reading it may block or consume its content.
fn is_generated_on_read(facts: &Facts) -> bool {
    const KERNEL_FILES: &str = "proc sysfs cgroup cgroup2 debugfs tracefs securityfs configfs pstore bpf";
    let is_kernel = |kind: &str| KERNEL_FILES.split(' ').any(|known| known == kind);
    facts.file_system.as_ref().is_some_and(|found| is_kernel(&found.kind))
}

struct ProbeFiles {
    file: File,
    /// True if `file` may be written.
    write: bool,
    /// Keeps the name of a file of its own: Windows opens no file again that was removed.
    _temporary: Option<Output>,
    /// A second file in the same directory, for methods that move bytes between files; or the reason for its absence.
    beside: Result<Output, String>,
}

impl ProbeFiles {
    fn file(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let beside = match path.canonicalize() {
            Ok(path) => temporary_file(path.parent().unwrap_or(Path::new("/"))),
            Err(error) => Err(error.to_string()),
        };
        Ok(Self { file, write: false, _temporary: None, beside })
    }

    fn in_directory(path: &Path) -> Result<Self, String> {
        let output = temporary_file(path)?;
        // Content to read and to map.
        sys::write_at(output.file(), &[0x5a; 64 << 10], 0)
            .map_err(|error| format!("cannot write a file in it: {error}"))?;
        let beside = temporary_file(path);
        Ok(Self { file: output.file().clone(), write: true, _temporary: Some(output), beside })
    }

    fn try_out(&self, method: &'static Method) -> EngineFact {
        if method.capabilities.copies_whole {
            return fact(method, self.copy_whole(), None);
        }
        if method.capabilities.copies_in_kernel {
            let result = match &self.beside {
                Ok(target) => engine::probe(method, target.file(), Some(&self.file), true, CachePolicy::Keep),
                Err(reason) => Err(format!("not tried: {reason}")),
            };
            return fact(method, result, None);
        }
        let with = |cache| engine::probe(method, &self.file, None, self.write, cache);
        let mut notes = Vec::new();
        for (choice, cache) in [
            (method.capabilities.direct, CachePolicy::Direct),
            (method.capabilities.drops, CachePolicy::DontCache),
        ] {
            if choice == Availability::ByPolicy {
                notes.push(match with(cache) {
                    Ok(()) => format!("with cache={cache} too"),
                    Err(reason) => format!("not with cache={cache}: {reason}"),
                });
            }
        }
        fact(method, with(CachePolicy::Keep), (!notes.is_empty()).then(|| notes.join("; ")))
    }

    /// Tries the method that copies whole files with an empty one: it depends on the system, and not on the content.
    fn copy_whole(&self) -> Result<(), String> {
        let beside = self.beside.as_ref().map_err(|reason| format!("not tried: {reason}"))?;
        let directory = beside.file().path().parent().unwrap_or(Path::new("."));
        let mut target = temporary_file(directory)?;
        target.become_copy(beside.file(), true, &mut |_| true).map(drop).map_err(|error| cause(&error))
    }
}

/// Creates a file in a directory that is removed when dropped.
fn temporary_file(directory: &Path) -> Result<Output, String> {
    let name = directory.join(format!("fullbore-probe-{}", std::process::id()));
    // A name that another user made is not followed or opened.
    Output::create_entry(&name)
        .map_err(|error| format!("cannot create a file in {}: {}", Shown(directory), cause(&error)))
}

/// Returns the cause of an error without the name of the temporary file.
fn cause(error: &fullbore::Error) -> String {
    without_code(&std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string))
}
