//! `fullbore dedupe`: reports duplicate files; links them only on request.

mod content;
mod find;
mod inode;
mod link;
mod report;

use std::path::PathBuf;

use clap::Args;
use fullbore::size;
use fullbore_cli::common_args::CommonArgs;
use fullbore_cli::values::names;

use self::find::Bounds;
use self::link::{LinkResult, Links, ReplaceMethod};
use self::report::Report;
use crate::exit::Exit;
use fullbore_cli::for_each::expanded;

/// Report duplicate files, and link them on request
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 done; 1 a file could not be read or linked, or changed; 2 usage or output error."
)]
pub(crate) struct Dedupe {
    /// Files and directories (searched recursively); symbolic links are followed only if given here, and to a directory
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Ignore files shorter than this
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = |text: &str| size::parse(text))]
    min_size: u64,

    /// Ignore files longer than this
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| size::parse(text))]
    max_size: Option<u64>,

    /// Include empty files
    #[arg(long, conflicts_with = "min_size")]
    empty: bool,

    /// Include hidden files and directories (names that begin with a dot)
    #[arg(short = '.', long)]
    hidden: bool,

    /// Compare files with equal hashes byte by byte
    #[arg(long)]
    bytes: bool,

    /// Replace every file of a group except the first with a link to the first, or to the first that has its
    /// metadata: hard (a hard link: one owner, mode and time) or reflink (a file that shares the blocks and keeps
    /// its own attributes)
    #[arg(long, value_parser = names::<ReplaceMethod>(), value_name = "METHOD")]
    link: Option<ReplaceMethod>,

    /// With --link hard: link even if owner, mode or extended attributes differ; those of the first file are
    /// kept
    #[arg(long, requires = "link")]
    any_metadata: bool,

    /// With --link: print the actions without performing them
    #[arg(long, requires = "link")]
    dry_run: bool,

    /// Print each group as a line of JSON, then a summary of the run
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    common: CommonArgs,
}

impl Dedupe {
    pub(crate) fn run(self) -> Result<(), Exit> {
        if self.any_metadata && self.link != Some(ReplaceMethod::Hard) {
            return Err(Exit::failure(
                "--any-metadata can be used only with --link hard: reflinks keep the attributes",
            ));
        }
        let bounds = Bounds {
            min: if self.empty { 0 } else { self.min_size },
            max: self.max_size.unwrap_or(u64::MAX),
            hidden: self.hidden,
            bytes: self.bytes,
        };
        let run = self.common.begin()?;
        let paths = expanded(self.paths);
        let found =
            run.with_executor("dedupe", None, |executor| find::find(&paths, bounds, executor, &run))?;
        let mut report = Report::new(&run, self.json);
        let links =
            self.link.map(|how| Links { how, any_metadata: self.any_metadata, dry_run: self.dry_run });
        report.head(&found.groups)?;
        let mut failed = found.failed;
        for group in &found.groups {
            let outcomes = links.map(|links| links.group(group, &found.directories));
            failed |= outcomes.iter().flatten().any(|(_, outcome)| matches!(outcome, LinkResult::Failed(_)));
            report.group(group, outcomes.as_deref())?;
        }
        report.end(found.read)?;
        if failed { Err(Exit::Reported(1)) } else { Ok(()) }
    }
}
