//! The built-in sets: files of `experiments/`, which `fullbore bench show` prints.

/// A file of experiments.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// Name on the command line.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        &[$(Set { name: $name, text: include_str!(concat!("../../experiments/", $name, ".toml")) }),*]
    };
}

/// All built-in sets, in the order of a full run.
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
    "sustained",
    "extend",
    "align",
    "block-size",
    "strategies",
    "auto",
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
];

/// The set that `fullbore bench` runs by default.
pub const QUICK: &str = BUILT_IN[0].text;

/// Returns the built-in set with this name.
pub fn built_in(name: &str) -> Option<&'static Set> {
    BUILT_IN.iter().find(|set| set.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_listed_once() {
        let names: std::collections::BTreeSet<_> = BUILT_IN.iter().map(|set| set.name).collect();
        assert_eq!(names.len(), BUILT_IN.len());
    }
}
