//! Counts of the operations, and the operations that each file system must support.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fullbore_testkit::ground::known_file_system;

/// Number of kinds of operations.
const KINDS: usize = 22;

/// Completed and refused operations, by name.
#[derive(Debug, Default)]
pub(crate) struct OperationCounts {
    counts: BTreeMap<&'static str, Count>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    done: u64,
    refused: u64,
}

impl OperationCounts {
    pub(crate) fn done(&mut self, name: &'static str) {
        self.counts.entry(name).or_default().done += 1;
    }

    /// Counts an operation that the file system does not support.
    pub(crate) fn refused(&mut self, name: &'static str) {
        self.counts.entry(name).or_default().refused += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.values().map(|count| count.done + count.refused).sum()
    }

    /// True if every kind of operation occurred, and `clone_range`, which seldom succeeds, at least 20 times; on Windows, where
    /// only ReFS has it, once.
    pub(crate) fn whole(&self) -> bool {
        let clones = self.counts.get("clone_range").map_or(0, |count| count.done + count.refused);
        let kinds = self.counts.keys().filter(|name| !name.ends_with("of nothing")).count();
        kinds == KINDS && clones >= if cfg!(windows) { 1 } else { 20 }
    }

    pub(crate) fn print(&self, directory: &Path, time: Duration) {
        let total = self.total();
        println!(
            "{} ({}): {total} operations in {:.1} s, {:.0}/s",
            directory.display(),
            known_file_system(directory).unwrap_or("another file system"),
            time.as_secs_f64(),
            total as f64 / time.as_secs_f64(),
        );
        for (name, Count { done, refused }) in &self.counts {
            println!("  {name}: {done}, refused {refused}");
        }
    }

    /// Fails if a file system refused an operation that its kind supports, or if a kind of operation never occurred.
    pub(crate) fn judge(&self, directory: &Path) {
        let optional: &[&str] = match known_file_system(directory) {
            // Every file system refuses to clone partial blocks.
            Some("ext4") => &["clone_range"],
            Some("tmpfs") => &["clone_range", "zero_range"],
            Some(_) => &[],
            None => &["clone_range", "zero_range", "punch_hole", "reserve", "allocate"],
        };
        for (name, Count { done, refused }) in &self.counts {
            if !optional.contains(name) {
                assert!(*done > 0, "{}: {name} never worked", directory.display());
                assert!(
                    *refused == 0 || *name == "clone_range",
                    "{}: {name}: {refused}",
                    directory.display()
                );
            }
        }
        assert!(self.whole(), "{}: only {:?}", directory.display(), self.counts);
    }
}
