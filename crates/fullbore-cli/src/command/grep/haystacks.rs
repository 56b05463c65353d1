//! The haystacks of a search: named files, and files found in directories, except those that ignore files exclude.

use std::path::{Path, PathBuf};

use ignore::DirEntry;
use ignore::types::{Types, TypesBuilder};

use super::args::{GrepArgs, Listing, TypeChange};

/// The paths of the command line.
#[derive(Debug)]
pub(crate) struct SearchPaths {
    pub(crate) paths: Vec<PathBuf>,
    /// True if no path was named, so that the current directory is searched.
    pub(crate) implicit: bool,
    /// True if there is only one file to search.
    pub(crate) one_file: bool,
}

impl SearchPaths {
    /// Interprets the paths of the command line. `stdin_used` is true if the patterns came from standard input.
    pub(crate) fn new(paths: Vec<PathBuf>, stdin_used: bool, args: &GrepArgs) -> Result<Self, String> {
        if stdin_used && paths.iter().any(|path| path == Path::new("-")) {
            return Err("error: attempted to read patterns from stdin while also searching stdin".into());
        }
        if let [first, rest @ ..] = paths.as_slice() {
            let one_file = rest.is_empty() && (first == Path::new("-") || !first.is_dir());
            return Ok(Self { paths, implicit: false, one_file });
        }
        let stdin = args.listing.is_none() && !stdin_used && grep_cli::is_readable_stdin();
        let path = if stdin { "-" } else { "./" };
        Ok(Self { paths: vec![path.into()], implicit: true, one_file: stdin })
    }

    pub(crate) fn only_standard_input(&self) -> bool {
        self.one_file && self.paths[0] == Path::new("-")
    }

    /// True if `rg` would search with one thread.
    pub(crate) fn serial(&self, args: &GrepArgs) -> bool {
        args.sort.is_some() || self.one_file || args.threads == Some(1)
    }

    /// True if `rg` would map the files.
    pub(crate) fn mapped(&self, requested: Option<bool>) -> bool {
        requested.unwrap_or_else(|| self.paths.len() <= 10 && self.paths.iter().all(|path| path.is_file()))
    }
}

/// A file, or standard input, to search.
#[derive(Debug)]
pub(crate) struct Haystack {
    pub(crate) path: PathBuf,
    pub(crate) named: bool,
    pub(crate) stdin: bool,
}

#[derive(Debug)]
pub(crate) enum Item {
    Haystack(Haystack),
    /// A path that could not be examined, with the reason.
    Diagnostic(String),
    /// An error in an ignore file.
    Remark(String),
}

pub(crate) fn types(args: &GrepArgs) -> Result<Types, String> {
    if args.types.is_empty() && args.listing != Some(Listing::Types) {
        // Reading all type definitions takes longer than searching a small directory.
        return Ok(Types::empty());
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for change in &args.types {
        match change {
            TypeChange::Clear(name) => {
                builder.clear(name);
            }
            TypeChange::Add(definition) => {
                builder.add_def(definition).map_err(|error| error.to_string())?;
            }
            TypeChange::Select(name) => {
                builder.select(name);
            }
            TypeChange::Negate(name) => {
                builder.negate(name);
            }
        }
    }
    builder.build().map_err(|error| error.to_string())
}

/// The properties of a walk that its items depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkKind {
    /// True if no path was named.
    pub(super) implicit: bool,
    /// True if `rg` would walk with one thread.
    pub(super) serial: bool,
}

pub(super) fn items(entry: Result<DirEntry, ignore::Error>, kind: WalkKind) -> impl Iterator<Item = Item> {
    let (note, item) = match entry {
        Err(error) => (None, Some(Item::Diagnostic(walk_message(&error, kind.serial)))),
        Ok(entry) => {
            let note = entry.error().map(|error| Item::Remark(error.to_string()));
            let stdin = entry.is_stdin();
            let named = stdin || (entry.depth() == 0 && !is_directory(&entry));
            let wanted = named || entry.file_type().is_some_and(|kind| kind.is_file());
            let haystack = || {
                let path = entry.into_path();
                let path = match path.strip_prefix("./") {
                    Ok(bare) if kind.implicit => bare.to_owned(),
                    _ => path,
                };
                Item::Haystack(Haystack { path, named, stdin })
            };
            (note, wanted.then(haystack))
        }
    };
    note.into_iter().chain(item)
}

/// Returns the message of an error. The serial walk of the crate `ignore` adds the operation, with the path once more;
/// the walk with several threads, which `rg` uses for several paths, does not.
fn walk_message(error: &ignore::Error, serial: bool) -> String {
    let text = error.to_string();
    let io = error.io_error().filter(|_| !serial);
    let reason = io.and_then(|io| Some((io, io.get_ref()?.source()?)));
    match reason.and_then(|(io, reason)| Some((text.strip_suffix(&io.to_string())?, reason))) {
        Some((path, reason)) => format!("{path}{reason}"),
        None => text,
    }
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir() || (entry.path_is_symlink() && entry.path().is_dir()))
}
