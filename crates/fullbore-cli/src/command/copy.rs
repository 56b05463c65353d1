//! `fullbore copy`: as `cp`, with its flags, words and exit codes.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use fullbore::file::{FileKind, look};
use fullbore::pattern::{self, CopyAccount, CopyEvent, CopyOptions, Existing, Follow, Preserve, Reflink};
use fullbore::size;
use fullbore_cli::exit::{Exit, program};
use fullbore_cli::progress::When;
use fullbore_cli::values::{names, words};
use fullbore_cli::ways::Ways;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::locale;

/// Copy files and trees
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 all is copied, 1 something is not, 2 wrong usage, 3 an input changed while it \
                        was read."
)]
pub(crate) struct Copy {
    /// The sources, then the target: a directory if there are several
    #[arg(value_name = "PATH", num_args = 0..)]
    paths: Vec<PathBuf>,

    /// Copy directories with what is in them
    #[arg(short = 'r', long, short_alias = 'R')]
    recursive: bool,

    /// As -dR --preserve=all
    #[arg(short = 'a', long)]
    archive: bool,

    /// Keep links as links, and files with several names as one: -P --preserve=links
    #[arg(short = 'd')]
    as_links: bool,

    /// Follow all symbolic links
    #[arg(short = 'L', long, overrides_with_all = ["no_dereference", "command_line"])]
    dereference: bool,

    /// Follow no symbolic link
    #[arg(short = 'P', long, overrides_with_all = ["dereference", "command_line"])]
    no_dereference: bool,

    /// Follow the symbolic links that are sources themselves
    #[arg(short = 'H', overrides_with_all = ["dereference", "no_dereference"])]
    command_line: bool,

    /// Keep mode, ownership and timestamps
    #[arg(short = 'p')]
    keep: bool,

    /// What to keep: mode, ownership, timestamps, links, xattr, all [default: mode,ownership,timestamps]
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "mode,ownership,timestamps", value_parser = kept())]
    preserve: Vec<Kept>,

    /// What not to keep
    #[arg(long, value_name = "LIST", require_equals = true, value_delimiter = ',', value_parser = kept())]
    no_preserve: Vec<Kept>,

    /// Copy only what was modified later than its target, or has none
    #[arg(short = 'u', long, overrides_with = "no_clobber")]
    update: bool,

    /// Leave targets that exist as they are
    #[arg(short = 'n', long, overrides_with_all = ["update", "force"])]
    no_clobber: bool,

    /// Replace targets that may not be written too
    #[arg(short = 'f', long, overrides_with = "no_clobber")]
    force: bool,

    /// The directory to copy into
    #[arg(short = 't', long, value_name = "DIR", conflicts_with = "no_target_directory")]
    target_directory: Option<PathBuf>,

    /// Take the target as a name, also if it is a directory
    #[arg(short = 'T', long)]
    no_target_directory: bool,

    /// Say what is copied to where, and in the end how the bytes went
    #[arg(short = 'v', long)]
    verbose: bool,

    /// Whether to share blocks instead of copying them
    #[arg(long, value_parser = names::<Sharing>(), value_name = "WHEN", num_args = 0..=1, require_equals = true,
          default_value = "auto", default_missing_value = "always")]
    reflink: Sharing,

    /// Read what was written back from the device and compare
    #[arg(long)]
    verify: bool,

    /// Go on where a run with this flag was stopped. Keeps timestamps, to know what is whole
    #[arg(long)]
    resume: bool,

    /// How durable the copies are when the command ends: none (the system writes them back in its time), data, full (their
    /// names too)
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = words(&["none", "data", "full"]))]
    sync: String,

    /// Print an account of the run as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    ways: Ways,
}

/// What can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Mode,
    Ownership,
    Timestamps,
    Links,
    Attributes,
    All,
}

fn kept() -> impl TypedValueParser<Value = Kept> {
    words(&["mode", "ownership", "timestamps", "links", "xattr", "all"]).map(|word| match word.as_str() {
        "mode" => Kept::Mode,
        "ownership" => Kept::Ownership,
        "timestamps" => Kept::Timestamps,
        "links" => Kept::Links,
        "xattr" => Kept::Attributes,
        _ => Kept::All,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sharing {
    /// Where the file system can
    Auto,
    /// Or fail
    Always,
    /// Not at all
    Never,
}

impl Copy {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let (pairs, refused) = self.pairs()?;
        let running = self.ways.begin()?;
        raise_limit();
        let options = CopyOptions {
            wish: running.wish().clone(),
            asked: running.asked().map(str::to_owned),
            profile: running.profile().cloned(),
            workers: running.wish().workers,
            ..self.options()?
        };
        let following = match running.progress() {
            When::Auto => std::io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        let follow = options.follow == Follow::All;
        // What there is to do is only looked for if somebody waits to see it: it is a walk of its own.
        let len = following.then(|| pairs.iter().map(|(source, _)| length(source, true, follow)).sum());
        running.follow("copy", len);
        let unheard = AtomicBool::new(false);
        let tell = |event: CopyEvent| match event {
            CopyEvent::Copied { source, target } => {
                let line = format!("{} -> {}\n", quoted(&source), quoted(&target));
                if running.print(&line).is_err() && !unheard.swap(true, Ordering::Relaxed) {
                    running.monitor().stop();
                }
            }
            CopyEvent::Planned { source, plan } => running.explain(&source, &plan),
            CopyEvent::Failed(error) => {
                running.aside(|| Exit::say(&format!("{}: {error}\n", program("copy"))))
            }
        };
        let account = pattern::copy(&pairs, &options, running.monitor(), &tell);
        running.rest();
        if unheard.into_inner() {
            return Err(Exit::BrokenPipe);
        }
        running.flush()?;
        let mut account = account?;
        account.failed += refused;
        let said = summary(&account);
        running.remark(&format!("copied: {said}"));
        let mut run = running.end(account.bytes());
        if self.json {
            run["copy"] = serde_json::to_value(account).map_err(Exit::trouble)?;
            Exit::print(&format!("{run}\n"))?;
        } else if self.verbose {
            Exit::print(&format!("{said}\n"))?;
        }
        match account {
            CopyAccount { changed: 1.., .. } => Err(Exit::Told(3)),
            CopyAccount { failed: 1.., .. } => Err(Exit::Told(1)),
            _ => Ok(()),
        }
    }

    fn options(&self) -> Result<CopyOptions, Exit> {
        let recursive = self.recursive || self.archive;
        let follow = match () {
            () if self.dereference => Follow::All,
            () if self.command_line => Follow::Sources,
            () if self.no_dereference || self.as_links || recursive => Follow::None,
            () => Follow::All,
        };
        let mut preserve = if self.archive { Preserve::ALL } else { Preserve::default() };
        preserve.links |= self.as_links;
        preserve.times |= self.resume;
        let plain = [Kept::Mode, Kept::Ownership, Kept::Timestamps];
        let asked = self.preserve.iter().chain(plain.iter().filter(|_| self.keep));
        for (kept, value) in
            asked.map(|kept| (kept, true)).chain(self.no_preserve.iter().map(|kept| (kept, false)))
        {
            let all = *kept == Kept::All;
            for (one, field) in [
                (Kept::Mode, &mut preserve.mode),
                (Kept::Ownership, &mut preserve.owner),
                (Kept::Timestamps, &mut preserve.times),
                (Kept::Links, &mut preserve.links),
                (Kept::Attributes, &mut preserve.attributes),
            ] {
                if all || *kept == one {
                    *field = value;
                }
            }
            preserve.insist |= *kept == Kept::Attributes && value;
        }
        Ok(CopyOptions {
            recursive,
            follow,
            preserve,
            existing: match (self.no_clobber, self.update) {
                (true, _) => Existing::Skip,
                (_, true) => Existing::Update,
                _ => Existing::Replace,
            },
            force: self.force,
            reflink: match self.reflink {
                Sharing::Auto => Reflink::Auto,
                Sharing::Always => Reflink::Always,
                Sharing::Never => Reflink::Never,
            },
            verify: self.verify,
            resume: self.resume,
            durability: self.sync.parse().map_err(Exit::Trouble)?,
            tell_names: self.verbose && !self.json,
            tell_plans: true,
            ..CopyOptions::default()
        })
    }

    /// Each source with its target, and how many were refused.
    fn pairs(&self) -> Result<(Vec<(PathBuf, PathBuf)>, u64), Exit> {
        let no = |message: String| {
            Exit::say(&format!("{}: {message}\n", program("copy")));
            Exit::Told(1)
        };
        let is_directory = |path: &Path| matches!(look(path), Ok(Some((FileKind::Directory, _))));
        let (sources, directory, target) = match (&self.target_directory, self.paths.split_last()) {
            (_, None) => return Err(no("missing file operand".to_owned())),
            (Some(directory), _) => (&self.paths[..], Some(directory), directory),
            (None, Some((only, []))) => {
                return Err(no(format!("missing destination file operand after {}", quoted(only))));
            }
            (None, Some((target, sources))) if self.no_target_directory => {
                if let Some(extra) = self.paths.get(2) {
                    return Err(no(format!("extra operand {}", quoted(extra))));
                }
                (sources, None, target)
            }
            (None, Some((target, sources))) if is_directory(target) || sources.len() > 1 => {
                (sources, Some(target), target)
            }
            (None, Some((target, sources))) => (sources, None, target),
        };
        let Some(directory) = directory else {
            let source = &sources[0];
            if ends_in_slash(target) && !is_directory(source) {
                let what = format!("cannot create regular file {}: Not a directory", quoted(target));
                return Err(no(what));
            }
            return Ok((vec![(source.clone(), target.clone())], 0));
        };
        if !is_directory(directory) {
            let what = if look(directory).is_ok_and(|found| found.is_some()) {
                "Not a directory"
            } else {
                "No such file or directory"
            };
            return Err(no(format!("target {}: {what}", quoted(directory))));
        }
        let (mut pairs, mut refused) = (Vec::with_capacity(sources.len()), 0);
        let mut names = HashMap::new();
        for source in sources {
            // What ends in `.` or `..` has no name: what is in it goes into the directory.
            let target = match source.components().next_back() {
                Some(Component::Normal(name)) => {
                    let target = directory.join(name);
                    if source.as_os_str().as_bytes().ends_with(b"/.") { directory.join(".") } else { target }
                }
                _ => directory.join("."),
            };
            // Names are what counts: two directories are copied into one.
            let known = (target.file_name().is_some() && !is_directory(source))
                .then(|| names.insert(target.as_os_str().to_owned(), source.clone()))
                .flatten();
            if let Some(known) = known {
                let (target, again) = (quoted(&target), quoted(source));
                if known == *source {
                    Exit::say(&format!(
                        "{}: warning: source file {again} specified more than once\n",
                        program("copy")
                    ));
                } else {
                    Exit::say(&format!(
                        "{}: will not overwrite just-created {target} with {again}\n",
                        program("copy")
                    ));
                    refused += 1;
                }
                continue;
            }
            pairs.push((source.clone(), target));
        }
        Ok((pairs, refused))
    }
}

fn ends_in_slash(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

/// How many files were copied, and how their bytes went.
fn summary(account: &CopyAccount) -> String {
    let mut said = format!("{} files", account.files);
    for (count, what) in [
        (account.directories, "directories"),
        (account.hard_links, "hard links"),
        (account.others, "links and devices"),
        (account.skipped, "skipped"),
        (account.failed, "failed"),
    ] {
        if count > 0 {
            said += &format!(", {count} {what}");
        }
    }
    said += &format!("; {}", size::human(account.bytes()));
    let ways: Vec<String> = [
        (account.cloned, "cloned"),
        (account.copied, "copied"),
        (account.holes, "skipped as holes"),
        (account.resumed, "there already"),
        (account.verified, "verified"),
    ]
    .iter()
    .filter(|(bytes, _)| *bytes > 0)
    .map(|(bytes, what)| format!("{} {what}", size::human(*bytes)))
    .collect();
    if !ways.is_empty() {
        said += &format!(": {}", ways.join(", "));
    }
    said
}

/// The bytes that lie under a path, as far as they can be looked at: for the line of progress only.
fn length(path: &Path, outermost: bool, follow: bool) -> u64 {
    let look = if outermost || follow { path.metadata() } else { path.symlink_metadata() };
    match look {
        Ok(found) if found.is_dir() && (outermost || !path.is_symlink()) => {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| length(&entry.path(), false, follow)).sum()
        }
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    }
}

/// A path as `cp` shows it.
fn quoted(path: &Path) -> String {
    fullbore::quote::quoted(path, locale::encoding(), true)
}

/// Deep trees have many directories open: as many as may be had without asking anybody.
fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // With fewer, very deep trees cannot be copied, and it is said of which path.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
