//! The directories of a source's path, created in the target's directory: `cp --parents`.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::attributes;
use super::directory::{Directory, c_name, path};
use super::failure::{Copied, CopyError};
use super::job::{Job, Worker};
use super::options::CopyEvent;
use fullbore_io::error::{Error, ErrorKind};
use fullbore_io::file::HeldDir;
use fullbore_io::sys::{self, AtFlags, Code, FileKind, OpenFlags, OsStrExt, is_separator};

impl Job<'_> {
    /// Creates the directories of the path `source` in the directory part of `target`, which is that directory joined
    /// with all of `source`. Each is finished when its content is.
    pub(super) fn parents(
        &self,
        worker: &mut Worker,
        source: &Path,
        target: &Path,
    ) -> Copied<(Arc<Directory>, OsString, OsString)> {
        let names: Vec<&OsStr> = source
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name),
                Component::ParentDir => Some(OsStr::new("..")),
                _ => None,
            })
            .collect();
        let mut base = target.to_owned();
        for _ in &names {
            base.pop();
        }
        let held = HeldDir::open(&base).map_err(|error| Error::io("create directory", &base, error))?;
        let mut directory = Directory::outermost(held);
        let whole = source.as_os_str();
        let Some((last, above)) = names.split_last() else {
            return Ok((directory, whole.to_owned(), ".".into()));
        };
        if above.is_empty() {
            return Ok((directory, whole.to_owned(), (*last).to_owned()));
        }
        let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
        let root: PathBuf = source.components().take_while(is_root).collect();
        for (at, name) in above.iter().enumerate() {
            // The first is a path, with the root if there is one.
            let looked_up = if at == 0 { root.join(name) } else { Path::new(name).to_owned() };
            directory = Arc::new(self.parent(worker, directory, &looked_up, name)?);
        }
        let Some(directory) = Arc::into_inner(directory) else {
            return Err(Error::new(ErrorKind::Invalid, "copy", source, "its directory is in use").into());
        };
        if *last == ".." {
            // The directory above was just created.
            return Err(Error::io("create directory", target, Code::EXISTS.into()).into());
        }
        // A slash at the end stays with the source's name.
        let mut name = (*last).to_owned();
        if whole.as_bytes().last().is_some_and(|&byte| is_separator(byte)) {
            name.push("/");
        }
        Ok((Arc::new(directory.into_outermost()), name, (*last).to_owned()))
    }

    fn parent(
        &self,
        worker: &mut Worker,
        above: Arc<Directory>,
        source: &Path,
        name: &OsStr,
    ) -> Copied<Directory> {
        let (source_name, target_name) = (c_name(source.as_os_str())?, c_name(name)?);
        let source_path = above.source_path(&source_name);
        let target_path = above.target_path(&target_name);
        let of_source = |error: Code| match error {
            Code::NOT_DIRECTORY => CopyError::NotADirectory { path: target_path.clone() },
            error => Error::io("get attributes of", &source_path, error.into()).into(),
        };
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
        let source = sys::open_at(above.source()?, &source_name, flags, 0).map_err(of_source)?;
        let stat = sys::status(&source).map_err(of_source)?;
        let within = above.target()?;
        let made = match sys::stat_at(&within, name, AtFlags::empty()) {
            Ok(there) if there.kind() != FileKind::Directory => {
                return Err(CopyError::NotADirectory { path: target_path });
            }
            Ok(_) => false,
            Err(_) => {
                let mode = attributes::creation_mode(&self.options.preserve, &stat) & 0o1777 | 0o700;
                sys::make_directory(&within, name, mode)
                    .map_err(|error| Error::io("make directory", &target_path, error.into()))?;
                worker.stats.directories += 1;
                if self.options.tell_names {
                    let (source, target) = (source_path.clone(), target_path.clone());
                    (self.tell)(CopyEvent::Parent { source, target });
                }
                true
            }
        };
        let target =
            above.target.child(name, !made).map_err(|error| Error::io("open", &target_path, error))?;
        let identity = stat.identity();
        let source = above.source_child(source, &source_name, true, identity)?;
        debug_assert!(path(&target_name) == Path::new(name), "the names are one");
        Ok(Directory::new(above, (source, target), None, stat, made, true))
    }
}
