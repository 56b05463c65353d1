//! Names of the tools that commands replace; called under one of them, the binary acts as that tool.

use std::ffi::OsString;
use std::path::Path;

use crate::exit;

/// The tools, each with the first words of its replacement's command line.
const PEERS: &[(&str, &[&str])] = &[
    ("wc", &["wc"]),
    ("cmp", &["cmp"]),
    ("cp", &["copy"]),
    ("rg", &["grep"]),
    ("b3sum", &["sum"]),
    ("md5sum", &["sum", "--algorithm=md5"]),
    ("sha1sum", &["sum", "--algorithm=sha1"]),
    ("cksum", &["sum"]),
    ("b2sum", &["sum", "--algorithm=blake2b"]),
    ("sha224sum", &["sum", "--algorithm=sha224"]),
    ("sha384sum", &["sum", "--algorithm=sha384"]),
    ("sha256sum", &["sum", "--algorithm=sha256"]),
    ("sha512sum", &["sum", "--algorithm=sha512"]),
];

/// The command line of this process.
pub(super) struct Invocation {
    pub(super) words: Vec<OsString>,
    /// The tool name under which the binary was called.
    pub(super) peer: Option<&'static str>,
}

impl Invocation {
    pub(super) fn now() -> Self {
        let mut words = std::env::args_os();
        let program = words.next().unwrap_or_default();
        let program = Path::new(&program);
        let is_called = |peer: &str| match cfg!(windows) {
            // Names there have an extension, and their case means nothing.
            true => program.file_stem().is_some_and(|name| name.eq_ignore_ascii_case(peer)),
            false => program.file_name().is_some_and(|name| name == peer),
        };
        match PEERS.iter().find(|(peer, _)| is_called(peer)) {
            Some(&(peer, first)) => {
                exit::call_program(peer);
                Self { words: first.iter().map(OsString::from).chain(words).collect(), peer: Some(peer) }
            }
            None => Self { words: words.collect(), peer: None },
        }
    }

    /// Returns the command, such as `wc`.
    pub(super) fn command(&self) -> &str {
        self.words.first().and_then(|word| word.to_str()).unwrap_or_default()
    }
}
