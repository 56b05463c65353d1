//! `fullbore copy`: `cp` with its flags, messages and exit codes.

mod flags;
mod messages;
mod operands;
mod options;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use fullbore::lock::Mutex;
use fullbore::pattern::{self, CopyEvent, CopyOptions, CopyStats, Follow};
use fullbore::{ErrorKind, size, sys};
use fullbore_cli::exit::Exit;
use fullbore_cli::progress::When;

use self::flags::Flags;
use self::operands::Pair;
use self::options::FlagOrder;
use crate::command::transform::is_standard_output;
use crate::command::walk::{Rules, Walk};

/// Copy files and directories
#[derive(Debug)]
pub(crate) struct Copy {
    flags: Flags,
    order: FlagOrder,
}

impl Args for Copy {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for Copy {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { flags: Flags::from_arg_matches(matches)?, order: FlagOrder::of(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Copy {
    /// The operands.
    pub(crate) fn paths(&mut self) -> &mut Vec<PathBuf> {
        &mut self.flags.paths
    }

    pub(crate) fn run(self) -> Result<(), Exit> {
        let Self { flags, order } = &self;
        let mut options = flags.options(order)?;
        let mut pairs = flags.pairs()?;
        backup_of_itself(&mut pairs, &mut options);
        let to_stdout = pairs.iter().any(|(_, target)| names_standard_output(target));
        let run = flags.common.begin()?;
        raise_open_file_limit();
        let asks = options.confirm.is_some();
        let following = match flags.common.progress {
            When::Auto => std::io::stderr().is_terminal() && !asks,
            When::Always => true,
            When::Never => false,
        };
        // The length is determined only if progress is shown, because that takes a separate walk.
        let len = following.then(|| pairs.iter().map(|(source, _)| length(source, options.follow)).sum());
        if following || !asks {
            run.follow("copy", len);
        }
        let unheard = Mutex::new(None);
        let end_with = |exit: Exit| {
            if matches!(exit, Exit::BrokenPipe) {
                run.progress.cancel();
            }
            unheard.lock().get_or_insert(exit);
        };
        let print = |line: &[u8]| {
            // A prompt follows the lines printed before it.
            let printed =
                run.output.print(line).and_then(|()| if asks { run.output.flush() } else { Ok(()) });
            if let Err(exit) = printed {
                end_with(exit);
            }
        };
        let report = |event: CopyEvent| match event {
            CopyEvent::Copied { source, target, backup, stats } => {
                let mut line = messages::copied(&source, &target, backup.as_deref());
                if let Some(stats) = stats.filter(|_| flags.debug && !flags.attributes_only) {
                    line.extend(messages::details(&stats, &options).into_bytes());
                }
                print(&line);
            }
            CopyEvent::Parent { source, target } => print(&messages::parent(&source, &target)),
            CopyEvent::Removed(path) => print(&messages::about("removed ", &path, "\n")),
            CopyEvent::Skipped(path) if flags.debug => print(&messages::about("skipped ", &path, "\n")),
            CopyEvent::Skipped(_) => {}
            CopyEvent::Repeated { source, directory } => {
                run.output.without_progress_line(|| messages::eprint(messages::repeated(&source, directory)));
            }
            // The reader of a target that is a pipe has ended.
            CopyEvent::Failed(error) if error.kind() == ErrorKind::BrokenPipe => {
                end_with(Exit::BrokenPipe);
            }
            CopyEvent::Failed(error) => {
                run.output.without_progress_line(|| messages::eprint(messages::failed(&error)))
            }
            // Plans, and events that later versions add.
            _ => {}
        };
        let stats = run.job.clone().durability(flags.sync).copy_with(pairs, &options, report);
        run.clear_progress();
        match unheard.into_inner() {
            Some(exit @ Exit::BrokenPipe) => return Err(exit),
            Some(exit) => {
                stats?;
                return Err(exit);
            }
            None => run.output.flush()?,
        }
        let stats = stats?;
        run.summarize(&format!("copied: {}", summary(&stats)));
        let summary = run.end(stats.bytes());
        if flags.json {
            let mut statistics = summary.json();
            statistics["copy"] = serde_json::to_value(stats).map_err(Exit::failure)?;
            let text = format!("{statistics}\n");
            if to_stdout { Exit::eprint(&text) } else { Exit::print(&text)? }
        }
        match stats {
            CopyStats { changed: 1.., .. } => Err(Exit::Reported(3)),
            CopyStats { failed: 1.., .. } => Err(Exit::Reported(1)),
            _ => Ok(()),
        }
    }
}

/// True if the bytes of a copy to this path are standard output's. `-` is an ordinary name.
fn names_standard_output(target: &Path) -> bool {
    is_standard_output(target) && target != Path::new("-")
}

/// Implements `cp --force --backup file file`, which makes the backup and nothing else.
fn backup_of_itself(pairs: &mut [Pair], options: &mut CopyOptions) {
    if let ([(source, target)], true) = (pairs, options.force)
        && source == target
        && let Some(backup) = &options.backup
        && let Ok(Some(name)) = pattern::backup_name(target, backup)
    {
        *target = name;
        options.backup = None;
    }
}

/// Raises the limit of open files to the hard limit: deep trees have many directories open.
fn raise_open_file_limit() {
    let sys::Limit { maximum, .. } = sys::limit(sys::Resource::OpenFiles);
    // With a lower limit, very deep trees fail with an error that names the path.
    let _ = sys::set_limit(sys::Resource::OpenFiles, sys::Limit { current: maximum, maximum });
}

/// Summarises the number of copied files and the copy methods of their bytes.
fn summary(stats: &CopyStats) -> String {
    let mut said = format!("{} {}", stats.files, if stats.files == 1 { "file" } else { "files" });
    for (count, one, many) in [
        (stats.directories, "directory", "directories"),
        (stats.hard_links, "hard link", "hard links"),
        (stats.others, "link or device", "links and devices"),
        (stats.skipped, "skipped", "skipped"),
        (stats.failed, "failed", "failed"),
    ] {
        if count > 0 {
            said += &format!(", {count} {}", if count == 1 { one } else { many });
        }
    }
    said += &format!("; {}", size::human(stats.bytes()));
    let common: Vec<String> = [
        (stats.cloned, "cloned"),
        (stats.copied, "copied"),
        (stats.holes, "skipped as holes"),
        (stats.resumed, "already present"),
        (stats.verified, "verified"),
    ]
    .iter()
    .filter(|(bytes, _)| *bytes > 0)
    .map(|(bytes, what)| format!("{} {what}", size::human(*bytes)))
    .collect();
    if !common.is_empty() {
        said += &format!(": {}", common.join(", "));
    }
    said
}

/// Returns the number of bytes below a path, ignoring errors: for the progress line only.
fn length(path: &Path, follow: Follow) -> u64 {
    if follow == Follow::None && path.is_symlink() {
        return 0;
    }
    let rules = Rules { follow: follow == Follow::All, hidden: true, stdin: false };
    let files = Walk::new(std::iter::once(path.to_owned()), rules);
    files
        .filter_map(|(path, _)| path.metadata().ok())
        .filter(|found| found.is_file())
        .map(|found| found.len())
        .sum()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn length_counts_linked_directories_where_links_are_followed() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        ["source", "elsewhere"].iter().for_each(|name| std::fs::create_dir(at(name)).unwrap());
        for (name, len) in [("source/.file", 1), ("elsewhere/file", 10), ("file", 100)] {
            std::fs::write(at(name), vec![0; len]).unwrap();
        }
        for (target, link) in
            [("../elsewhere", "directory"), ("../file", "link"), (".", "loop"), ("none", "dangling")]
        {
            symlink(target, at("source").join(link)).unwrap();
        }
        symlink("source", at("named")).unwrap();
        let lengths =
            |name| [Follow::None, Follow::Sources, Follow::All].map(|follow| length(&at(name), follow));
        assert_eq!(lengths("source"), [1, 1, 111]);
        assert_eq!(lengths("named"), [0, 1, 111]);
    }
}
