//! The report: groups in the format of fclones, or as JSON.

use std::path::{Path, PathBuf};

use fullbore::size;
use fullbore::sys::OsStrExt;
use fullbore_cli::common_args::CliRun;
use serde_json::{Value, json};

use super::find::Group;
use super::link::LinkResult;
use crate::command::sum::{escape, named};
use crate::exit::Exit;

pub(super) struct Report<'r> {
    run: &'r CliRun<'r>,
    json: bool,
    summary: Value,
    linked: u64,
}

impl<'r> Report<'r> {
    pub(super) fn new(run: &'r CliRun<'r>, json: bool) -> Self {
        Self { run, json, summary: Value::Null, linked: 0 }
    }

    /// Prints the totals of all groups.
    pub(super) fn head(&mut self, groups: &[Group]) -> Result<(), Exit> {
        let files: u64 = groups.iter().map(|group| group.files.len() as u64).sum();
        // Sparse files can be longer together than 2^64 bytes.
        let bytes = |more: u64| {
            let of = |group: &Group| (group.files.len() as u64 - more).saturating_mul(group.len);
            groups.iter().map(of).fold(0, u64::saturating_add)
        };
        let (total, redundant) = (bytes(0), bytes(1));
        let more = files - groups.len() as u64;
        self.summary = json!({
            "groups": groups.len(), "files": files, "bytes": total,
            "redundant_files": more, "redundant_bytes": redundant,
        });
        if self.json {
            return Ok(());
        }
        let text = format!(
            "# Total: {total} B ({}) in {files} files in {} groups\n# Redundant: {redundant} B ({}) in {more} files\n",
            size::human(total),
            groups.len(),
            size::human(redundant),
        );
        self.run.output.print(text.as_bytes())
    }

    /// Prints one group, with the results of its names if they were to be linked.
    pub(super) fn group(
        &mut self,
        group: &Group,
        outcomes: Option<&[(PathBuf, LinkResult)]>,
    ) -> Result<(), Exit> {
        for (_, outcome) in outcomes.into_iter().flatten() {
            match outcome {
                LinkResult::Linked => self.linked += 1,
                LinkResult::Failed(error) => self.run.output.eprint(&format!("fullbore: {error}\n")),
                _ => {}
            }
        }
        let text = if self.json { Self::object(group, outcomes) } else { Self::lines(group, outcomes) };
        self.run.output.print(&text)
    }

    fn lines(group: &Group, outcomes: Option<&[(PathBuf, LinkResult)]>) -> Vec<u8> {
        let (sum, len, count) = (group.sum.to_string(), group.len, group.files.len());
        let of = if group.sparse { " (without zeros)" } else { "" };
        let mut text = format!("{sum}{of}, {len} B ({}) * {count}:\n", size::human(len)).into_bytes();
        let mut outcomes = outcomes.into_iter().flatten().map(|(_, outcome)| outcome);
        for file in &group.files {
            for (number, name) in file.inode.names.iter().enumerate() {
                // Further names of the same file are marked with `=`.
                text.extend_from_slice(if number == 0 { b"    " } else { b"    = " });
                add(&mut text, name);
                text.extend(
                    match outcomes.next().map(described) {
                        None | Some(("kept", _)) => String::new(),
                        Some(("left", Some(reason))) => format!(": left: {reason}"),
                        Some((word, _)) => format!(": {word}"),
                    }
                    .bytes(),
                );
                text.push(b'\n');
            }
        }
        text
    }

    fn object(group: &Group, outcomes: Option<&[(PathBuf, LinkResult)]>) -> Vec<u8> {
        let mut outcomes = outcomes.into_iter().flatten().map(|(_, outcome)| outcome);
        let mut files = Vec::new();
        for file in &group.files {
            let names = file.inode.names.iter().map(|name| {
                let mut value = named(name);
                if let Some((word, why)) = outcomes.next().map(described) {
                    value["outcome"] = word.into();
                    if let Some(why) = why {
                        value["why"] = why.into();
                    }
                }
                value
            });
            files.push(json!({ "names": names.collect::<Vec<_>>() }));
        }
        let sum = if group.sparse { "blake3_without_zeros" } else { "blake3" };
        format!("{}\n", json!({ sum: group.sum.to_string(), "bytes": group.len, "files": files }))
            .into_bytes()
    }

    pub(super) fn end(mut self, read: u64) -> Result<(), Exit> {
        let summary = self.run.end(read);
        if self.json {
            self.summary["linked_names"] = self.linked.into();
            let text = format!("{}\n", json!({ "summary": self.summary, "run": summary.json() }));
            self.run.output.print(text.as_bytes())?;
        }
        self.run.output.flush()
    }
}

/// Returns the word for a result, and its reason.
fn described(outcome: &LinkResult) -> (&'static str, Option<String>) {
    match outcome {
        LinkResult::Kept => ("kept", None),
        LinkResult::Linked => ("linked", None),
        LinkResult::Would => ("would be linked", None),
        LinkResult::Left(reason) => ("left", Some((*reason).to_owned())),
        LinkResult::Failed(error) => ("failed", Some(error.to_string())),
    }
}

/// Appends a name in one line, whatever characters it contains.
fn add(text: &mut Vec<u8>, name: &Path) {
    let name = name.as_os_str().as_bytes();
    match escape(name).filter(|_| name.iter().any(|byte| matches!(byte, b'\n' | b'\r'))) {
        Some(escaped) => {
            text.push(b'\\');
            text.extend_from_slice(&escaped);
        }
        None => text.extend_from_slice(name),
    }
}
