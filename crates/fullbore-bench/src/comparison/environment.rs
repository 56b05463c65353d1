//! Differences between the environments of two runs that could by themselves explain a difference in speed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::devices;
use crate::document::{Document, Environment};
use crate::units;

/// The aspect of a difference: the words of `--across`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Processor, its number and governor, memory, virtualisation.
    Machine,
    /// Limits of control groups, affinity and resource limits.
    Limits,
    /// The kernel's release.
    Kernel,
    /// The file system: kind, mounted source, mount options, block size, direct I/O.
    FileSystem,
    /// The devices and the settings of their queues.
    Device,
    /// The version of fullbore.
    Version,
    /// The size of the test file.
    FileSize,
}

impl Aspect {
    /// All aspects, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Machine,
        Self::Limits,
        Self::Kernel,
        Self::FileSystem,
        Self::Device,
        Self::Version,
        Self::FileSize,
    ];

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Limits => "limits",
            Self::Kernel => "kernel",
            Self::FileSystem => "file-system",
            Self::Device => "device",
            Self::Version => "version",
            Self::FileSize => "file-size",
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Aspect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|aspect| aspect.word() == word)
            .ok_or_else(|| format!("\"{word}\" is not one of {}", Self::ALL.map(Self::word).join(", ")))
    }
}

/// A difference between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its aspect.
    pub aspect: Aspect,
    /// The differing fact, in words.
    pub what: String,
    /// The value in the baseline.
    pub baseline: String,
    /// The value in the other document.
    pub this: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} | {}", self.what, self.baseline, self.this)
    }
}

/// The differences and notes of a pair of documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Differences that could explain a difference in speed.
    pub differences: Vec<Difference>,
    /// Notes for the reader, a phrase each.
    pub notes: Vec<String>,
}

/// Memory that differs by less counts as equal: kernels reserve slightly different amounts.
const MEMORY_TOLERANCE: f64 = 0.02;

/// Mount options that name something and do not affect speed.
const NAMING_OPTIONS: [&str; 5] = ["subvol=", "subvolid=", "lowerdir=", "upperdir=", "workdir="];

impl Differences {
    fn differs(&mut self, aspect: Aspect, what: &str, baseline: impl Into<String>, this: impl Into<String>) {
        self.differences.push(Difference {
            aspect,
            what: what.into(),
            baseline: baseline.into(),
            this: this.into(),
        });
    }

    /// Compares two texts, each empty if not recorded. A text that only one document records is a note.
    pub(super) fn text(&mut self, aspect: Aspect, what: &str, baseline: &str, this: &str) {
        match (baseline.is_empty(), this.is_empty()) {
            (false, false) if baseline != this => self.differs(aspect, what, baseline, this),
            (true, false) => self.notes.push(format!("{what} is recorded in one document only: {this}")),
            (false, true) => self.notes.push(format!("{what} is recorded in one document only: {baseline}")),
            _ => {}
        }
    }

    /// Compares two limits; no limit is a value too.
    fn limit(&mut self, what: &str, baseline: Option<String>, this: Option<String>) {
        if baseline != this {
            let text = |limit: Option<String>| limit.unwrap_or_else(|| "none".into());
            self.differs(Aspect::Limits, what, text(baseline), text(this));
        }
    }
}

/// Finds the differences. Times, names of directories and mount points, free space and the seed are harmless.
pub fn differences(baseline: &Document, this: &Document) -> Differences {
    let mut differences = Differences::default();
    let (a, b) = (&baseline.environment, &this.environment);
    machine(&mut differences, a, b);
    limits(&mut differences, a, b);
    differences.text(Aspect::Kernel, "kernel", &a.kernel, &b.kernel);
    let same = same_file_system(a, b);
    file_system(&mut differences, a, b, same);
    devices::compare(&mut differences, a, b, same);
    differences.text(
        Aspect::Version,
        "version of fullbore",
        &baseline.run.fullbore_version,
        &this.run.fullbore_version,
    );
    let size = |document: &Document| match document.run.file_bytes {
        0 => String::new(),
        bytes => units::size(bytes),
    };
    differences.text(Aspect::FileSize, "test file size", &size(baseline), &size(this));
    if baseline.run.file_bytes != this.run.file_bytes && size(baseline) == size(this) {
        let bytes = |document: &Document| format!("{} bytes", document.run.file_bytes);
        differences.differs(Aspect::FileSize, "test file size", bytes(baseline), bytes(this));
    }
    let disks = |document: &Document| document.run.directories.len().max(1).to_string();
    differences.text(Aspect::Device, "directories measured together", &disks(baseline), &disks(this));
    engines(&mut differences, a, b);
    for (document, which) in [(baseline, "the baseline"), (this, "this document")] {
        if document.run.interrupted || !document.run.complete {
            differences.notes.push(format!("the run of {which} is incomplete"));
        }
    }
    differences
}

/// A fact as text; empty if not recorded.
pub(super) fn fact(environment: &Environment, pointer: &str) -> String {
    plain(environment.facts.pointer(pointer).unwrap_or(&Value::Null))
}

/// A value as text; empty for null.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn machine(differences: &mut Differences, a: &Environment, b: &Environment) {
    differences.text(Aspect::Machine, "processor", &a.cpu_model, &b.cpu_model);
    let number = |count: u32| if count == 0 { String::new() } else { count.to_string() };
    differences.text(Aspect::Machine, "processors", &number(a.logical_cpus), &number(b.logical_cpus));
    for (what, name) in [
        ("instruction set", "architecture"),
        ("clock governor", "governor"),
        ("page size", "page_size"),
        ("virtualisation", "virtualisation"),
    ] {
        let pointer = format!("/machine/{name}");
        differences.text(Aspect::Machine, what, &fact(a, &pointer), &fact(b, &pointer));
    }
    let memory = |environment: &Environment| {
        let total = environment.facts.pointer("/machine/memory_total").and_then(Value::as_u64);
        total.or(environment.memory_bytes)
    };
    if let (Some(one), Some(other)) = (memory(a), memory(b)) {
        let apart = one.abs_diff(other) as f64 / one.max(other).max(1) as f64;
        if apart > MEMORY_TOLERANCE {
            differences.differs(Aspect::Machine, "memory", units::size(one), units::size(other));
        }
    }
}

fn limits(differences: &mut Differences, a: &Environment, b: &Environment) {
    let quota =
        |e: &Environment| e.cpu_quota.map(|quota| format!("{} processors", units::significant(quota)));
    differences.limit("CPU quota", quota(a), quota(b));
    let recorded = |e: &Environment| e.facts.get("machine").is_some();
    if !recorded(a) || !recorded(b) {
        return;
    }
    let number =
        |e: &Environment, name: &str| e.facts.pointer(&format!("/machine/{name}")).and_then(Value::as_u64);
    for (what, name) in [("memory limit", "memory_limit"), ("lockable memory", "lockable")] {
        differences.limit(what, number(a, name).map(units::size), number(b, name).map(units::size));
    }
    let allowed = |e: &Environment| number(e, "allowed_processors").map(|n| n.to_string());
    // Other machines have other processors; affinity matters only if their number is equal.
    if a.logical_cpus == b.logical_cpus {
        differences.limit("processors the process may run on", allowed(a), allowed(b));
    }
}

/// True if both runs are known to have used the same file system.
fn same_file_system(a: &Environment, b: &Environment) -> bool {
    let id = |environment: &Environment| fact(environment, "/path/file_system/id");
    !id(a).is_empty() && id(a) == id(b) && a.file_system.kind == b.file_system.kind
}

fn file_system(differences: &mut Differences, a: &Environment, b: &Environment, same: bool) {
    let aspect = Aspect::FileSystem;
    differences.text(aspect, "file system", &a.file_system.kind, &b.file_system.kind);
    if !same {
        // Device names change from boot to boot; the file system's own number does not.
        differences.text(aspect, "mounted source", &a.file_system.source, &b.file_system.source);
    }
    let (one, other) = (options(&a.file_system.options), options(&b.file_system.options));
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
        these.difference(those).cloned().collect::<Vec<_>>().join(",")
    };
    let (in_a, in_b) = (only(&one, &other), only(&other, &one));
    if !(in_a.is_empty() && in_b.is_empty()) {
        let text = |options: String| if options.is_empty() { "without".into() } else { options };
        differences.differs(aspect, "mount options", text(in_a), text(in_b));
    }
    for (what, pointer) in [
        ("file system block size", "/path/file_system/block_size"),
        ("network file system", "/path/file_system/network"),
        ("direct I/O works", "/path/direct/works"),
        ("direct I/O alignment", "/path/direct/alignment/offset"),
    ] {
        differences.text(aspect, what, &fact(a, pointer), &fact(b, pointer));
    }
    let id = |environment: &Environment| fact(environment, "/path/file_system/id");
    if !same && !id(a).is_empty() && !id(b).is_empty() && a.file_system.source == b.file_system.source {
        differences.notes.push("the file system was recreated, or is another one of the same kind".into());
    }
}

fn options(text: &str) -> BTreeSet<String> {
    let naming = |option: &&str| !NAMING_OPTIONS.iter().any(|name| option.starts_with(name));
    text.split(',').map(str::trim).filter(|o| !o.is_empty()).filter(naming).map(str::to_owned).collect()
}

/// Notes engines available in one run only; they leave cells out but do not slow others down.
fn engines(differences: &mut Differences, a: &Environment, b: &Environment) {
    let known = |environment: &Environment| -> BTreeMap<String, bool> {
        environment.engines.iter().map(|engine| (engine.name.clone(), engine.available)).collect()
    };
    let (one, other) = (known(a), known(b));
    for (name, available) in &one {
        if other.get(name).is_some_and(|there| there != available) {
            let which = if *available { "the baseline" } else { "this document" };
            differences.notes.push(format!("engine {name} is available in {which} only"));
        }
    }
}
