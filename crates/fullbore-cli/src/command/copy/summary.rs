//! The text summary of a run, and the total length for the progress line.

use std::path::Path;

use fullbore::pattern::CopyStats;
use fullbore::size;

/// Summarizes the number of copied files and the copy methods of their bytes.
pub(super) fn summary(stats: &CopyStats) -> String {
    let mut said = format!("{} files", stats.files);
    for (count, what) in [
        (stats.directories, "directories"),
        (stats.hard_links, "hard links"),
        (stats.others, "links and devices"),
        (stats.skipped, "skipped"),
        (stats.failed, "failed"),
    ] {
        if count > 0 {
            said += &format!(", {count} {what}");
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
pub(super) fn length(path: &Path, outermost: bool, follow: bool) -> u64 {
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
