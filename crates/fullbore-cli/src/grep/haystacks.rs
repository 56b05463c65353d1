//! The haystacks of a search: named files, and files found in directories, except those that ignore files exclude.

use std::cmp::Ordering;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::args::{GrepArgs, Listing, SortBy, TypeChange, is_standard_input};
use super::walk::walk_at_once;

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
    /// `stdin_used`: the patterns came from standard input.
    pub(crate) fn new(paths: Vec<PathBuf>, stdin_used: bool, args: &GrepArgs) -> Result<Self, String> {
        if stdin_used && paths.iter().any(|path| is_standard_input(path)) {
            return Err("error: attempted to read patterns from stdin while also searching stdin".into());
        }
        if let [first, rest @ ..] = paths.as_slice() {
            let one_file = rest.is_empty() && (is_standard_input(first) || !first.is_dir());
            return Ok(Self { paths, implicit: false, one_file });
        }
        let stdin = args.listing.is_none() && !stdin_used && grep_cli::is_readable_stdin();
        let path = if stdin { "-" } else { "./" };
        Ok(Self { paths: vec![path.into()], implicit: true, one_file: stdin })
    }

    /// True if only standard input is searched.
    pub(crate) fn only_standard_input(&self) -> bool {
        self.one_file && is_standard_input(&self.paths[0])
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

/// A result of the walk.
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

fn globs(args: &GrepArgs, here: &Path) -> Result<Override, ignore::Error> {
    let mut builder = OverrideBuilder::new(here);
    builder.case_insensitive(args.glob_case_insensitive)?;
    for glob in &args.globs {
        builder.add(glob)?;
    }
    builder.case_insensitive(true)?;
    for glob in &args.iglobs {
        builder.add(glob)?;
    }
    builder.build()
}

/// Lists all haystacks in order, with messages, before the search begins. Up to `workers` threads walk the directories.
pub(crate) fn walk(
    args: &GrepArgs,
    search_paths: &SearchPaths,
    workers: usize,
) -> Result<Box<dyn Iterator<Item = Item> + Send>, String> {
    let here = std::env::current_dir()
        .or_else(|error| std::env::var_os("PWD").map(PathBuf::from).ok_or(error))
        .map_err(|error| format!("failed to get current working directory: {error}"))?;
    let mut builder = WalkBuilder::new(&search_paths.paths[0]);
    for path in &search_paths.paths[1..] {
        builder.add(path);
    }
    let mut notes = Vec::new();
    if !args.no_ignore_files {
        let wrong = args.ignore_files.iter().filter_map(|path| builder.add_ignore(path));
        notes.extend(wrong.map(|error| Item::Remark(error.to_string())));
    }
    builder
        .max_depth(args.max_depth)
        .follow_links(args.follow)
        .max_filesize(args.max_filesize)
        .same_file_system(args.one_file_system)
        .skip_stdout(args.listing != Some(Listing::Files))
        .overrides(globs(args, &here).map_err(|error| error.to_string())?)
        .types(types(args)?)
        .hidden(!args.hidden)
        .parents(!args.no_ignore_parent)
        .ignore(!args.no_ignore_dot)
        .git_global(!args.no_ignore_vcs && !args.no_ignore_global)
        .git_ignore(!args.no_ignore_vcs)
        .git_exclude(!args.no_ignore_vcs && !args.no_ignore_exclude)
        .require_git(!args.no_require_git)
        .ignore_case_insensitive(args.ignore_file_case_insensitive)
        .current_dir(&here);
    if !args.no_ignore_dot {
        builder.add_custom_ignore_filename(".rgignore");
    }
    let implicit = search_paths.implicit;
    // Results are printed in file order, so a stable order costs nothing more.
    if args.sort.is_none_or(|sort| sort.by == SortBy::Path && !sort.reverse) {
        if let ([root], true) = (search_paths.paths.as_slice(), workers > 1)
            && root.is_dir()
            && let Some(items) = walk_at_once(builder.threads(workers), implicit)
        {
            return Ok(Box::new(notes.into_iter().chain(items)));
        }
        builder.sort_by_file_name(Ord::cmp);
    }
    let items = builder.build().flat_map(move |entry| items(entry, implicit));
    let items = notes.into_iter().chain(items);
    match args.sort {
        Some(sort) if sort.by != SortBy::Path || sort.reverse => {
            let (mut haystacks, others): (Vec<_>, Vec<_>) =
                items.partition(|item| matches!(item, Item::Haystack(_)));
            order(&mut haystacks, sort.by, sort.reverse);
            Ok(Box::new(others.into_iter().chain(haystacks)))
        }
        _ => Ok(Box::new(items)),
    }
}

pub(super) fn items(entry: Result<DirEntry, ignore::Error>, implicit: bool) -> impl Iterator<Item = Item> {
    let (note, item) = match entry {
        Err(error) => (None, Some(Item::Diagnostic(error.to_string()))),
        Ok(entry) => {
            let note = entry.error().map(|error| Item::Remark(error.to_string()));
            let stdin = entry.is_stdin();
            let named = stdin || (entry.depth() == 0 && !is_directory(&entry));
            let wanted = named || entry.file_type().is_some_and(|kind| kind.is_file());
            let haystack = || {
                let path = entry.into_path();
                let path = match path.strip_prefix("./") {
                    Ok(bare) if implicit => bare.to_owned(),
                    _ => path,
                };
                Item::Haystack(Haystack { path, named, stdin })
            };
            (note, wanted.then(haystack))
        }
    };
    note.into_iter().chain(item)
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir() || (entry.path_is_symlink() && entry.path().is_dir()))
}

fn order(items: &mut [Item], by: SortBy, reverse: bool) {
    let path = |item: &Item| match item {
        Item::Haystack(haystack) => haystack.path.clone(),
        _ => PathBuf::new(),
    };
    if by == SortBy::Path {
        items.sort_by_cached_key(|item| std::cmp::Reverse(path(item)));
        return;
    }
    let time = |metadata: Metadata| -> io::Result<SystemTime> {
        match by {
            SortBy::Accessed => metadata.accessed(),
            SortBy::Created => metadata.created(),
            _ => metadata.modified(),
        }
    };
    // Files without the time come last, in reverse order first.
    let key = |item: &Item| path(item).metadata().and_then(time).ok();
    let compare = |one: &Option<SystemTime>, other: &Option<SystemTime>| match (one, other) {
        (Some(one), Some(other)) => one.cmp(other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    let keys: Vec<_> = items.iter().map(key).collect();
    let mut positions: Vec<_> = (0..items.len()).collect();
    positions.sort_by(|&one, &other| {
        let ordering = compare(&keys[one], &keys[other]);
        if reverse { ordering.reverse() } else { ordering }
    });
    let mut sorted: Vec<_> = positions
        .iter()
        .map(|&position| std::mem::replace(&mut items[position], Item::Remark(String::new())))
        .collect();
    items.swap_with_slice(&mut sorted);
}
