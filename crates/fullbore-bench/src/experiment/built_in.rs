//! The sets that come with the program: files of `experiments/`, readable there and by `fullbore bench show`.

/// A file of experiments.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// The name it is run by.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        &[$(Set { name: $name, text: include_str!(concat!("../../experiments/", $name, ".toml")) }),*]
    };
}

/// Every built-in set, in the order of a full run.
#[rustfmt::skip]
pub const BUILT_IN: &[Set] = sets![
    "quick",
    "roof",
    "out-of-box",
    "unbuffered",
    "overhead",
    "depth",
    "devices",
    "streams",
    "extend",
    "align",
    "block-size",
    "strategies",
    "file-size",
    "fresh",
    "scalar-simd",
    "interfaces",
    "user-buffer",
    "stream-buffer",
    "hints",
    "sync-or-async",
    "seek",
    "vectored",
    "preallocate",
    "completion",
    "latency",
    "phases",
    "device-cache",
    "pipeline",
    "utilities",
    "devices",
    "streams",
];

/// What `fullbore bench` measures when it is told nothing else.
pub const QUICK: &str = BUILT_IN[0].text;

/// The built-in set with this name.
pub fn built_in(name: &str) -> Option<&'static Set> {
    BUILT_IN.iter().find(|set| set.name == name)
}
