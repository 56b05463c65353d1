//! Converts the operands to pairs of source and target.

use std::path::{Component, Path, PathBuf};

use fullbore::file::{FileKind, stat};
use fullbore::pattern::copy_was_begun;
use fullbore::sys::{Code, OsStrExt, OsStringExt, is_separator};
use fullbore_cli::exit::{Exit, reason, system_reason};
use fullbore_cli::for_each::expanded;

use super::flags::Flags;
use super::messages::{about, fatal, usage};

pub(super) type Pair = (PathBuf, PathBuf);

impl Flags {
    pub(super) fn pairs(&self) -> Result<Vec<Pair>, Exit> {
        let into = self.target_directory.is_some();
        let (sources, target) = match (&self.target_directory, self.paths.split_last()) {
            (_, None) => return Err(usage("missing file operand")),
            (Some(directory), _) => (&self.paths[..], directory),
            (None, Some((only, []))) => {
                return Err(usage(about("missing destination file operand after ", only, "")));
            }
            (None, Some((target, sources))) => (sources, target),
        };
        let sources = &expanded(sources.to_vec())[..];
        if self.no_target_directory
            && let Some(extra) = self.paths.get(2).or(sources.get(1))
        {
            return Err(usage(about("extra operand ", extra, "")));
        }
        let found = stat(target);
        let is_directory = matches!(found, Ok(Some((FileKind::Directory, _))));
        // The target itself may be a partial copy of the source, left by an earlier run with `--resume`.
        let check = match sources {
            [source] if self.resume && is_directory && !into && !self.parents => {
                copy_was_begun(source, target)?
            }
            _ => false,
        };
        if (is_directory || into || sources.len() > 1) && !self.no_target_directory && !check {
            if !is_directory {
                let before = if into { "target directory " } else { "target " };
                let what = match found {
                    Ok(Some(_)) => ": Not a directory".to_owned(),
                    Ok(None) => ": No such file or directory".to_owned(),
                    Err(error) => match error.raw_os_error() {
                        Some(_) => format!(": {}", system_reason(&error)),
                        None => String::new(),
                    },
                };
                return Err(fatal(about(before, target, &what)));
            }
            return Ok(sources.iter().map(|source| self.within(source, target)).collect());
        }
        if self.parents {
            return Err(usage("with --parents, the destination must be a directory"));
        }
        let source = self.stripped(&sources[0]);
        // The path ends with a slash but does not name a directory. A link may be replaced, wherever it leads.
        let there = stat(&source);
        if let (Err(error), Ok(Some(_))) = (&found, &there)
            && error.code() == Some(Code::NOT_DIRECTORY)
            && std::fs::symlink_metadata(target).is_err()
        {
            let what = format!(": {}", reason(&Code::NOT_DIRECTORY.into()));
            return Err(fatal(about("cannot stat ", target, &what)));
        }
        // A missing source is the error, whatever the target is.
        if !matches!(there, Ok(Some(_))) && std::fs::symlink_metadata(&source).is_err() {
            return Ok(vec![(source, target.clone())]);
        }
        let what = match there {
            Ok(Some((FileKind::Directory, _))) => "cannot create directory ",
            _ => "cannot create regular file ",
        };
        if target.as_os_str().is_empty() {
            return Err(fatal(about(what, target, ": No such file or directory")));
        }
        if target.as_os_str().as_bytes().last().is_some_and(|&byte| is_separator(byte))
            && !is_directory
            && what.ends_with("file ")
        {
            return Err(fatal(about(what, target, ": Not a directory")));
        }
        Ok(vec![(source, target.clone())])
    }

    fn stripped(&self, source: &Path) -> PathBuf {
        let bytes = source.as_os_str().as_bytes();
        match bytes.iter().rposition(|&byte| !is_separator(byte)) {
            Some(last) if self.strip_trailing_slashes => {
                PathBuf::from(std::ffi::OsString::from_vec(bytes[..=last].to_vec()))
            }
            _ => source.to_owned(),
        }
    }

    /// Returns a source and its target in a directory.
    fn within(&self, source: &Path, directory: &Path) -> Pair {
        let source = self.stripped(source);
        if self.parents {
            let below: PathBuf = source
                .components()
                .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
                .collect();
            return (source, directory.join(below));
        }
        // A source that ends in `.` or `..` has no name: its content goes into the directory.
        let target = match source.components().next_back() {
            Some(Component::Normal(name)) if !ends_with_dot(&source) => directory.join(name),
            _ => directory.join("."),
        };
        (source, target)
    }
}

/// True for a path whose last name is `.`, which its components do not show.
fn ends_with_dot(path: &Path) -> bool {
    let mut names = path.as_os_str().as_bytes().rsplit(|&byte| is_separator(byte));
    names.find(|name| !name.is_empty()) == Some(b".")
}
