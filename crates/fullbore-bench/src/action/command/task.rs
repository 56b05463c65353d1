//! The tasks of commands, and the arguments with which each tool does one.
//!
//! They are code, and not data in experiment files, so that an experiment cannot run arbitrary commands.

use fullbore::operation::hash::Hash;

pub(super) const OURS: &str = "fullbore";

#[derive(Debug)]
pub(super) struct CommandTask {
    pub(super) name: &'static str,
    pub(super) input: Input,
    pub(super) expected: ExpectedOutput,
    /// Tools that can do it, ours first.
    pub(super) tools: &'static [Tool],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Random,
    Text,
    /// Two identical texts.
    TwoTexts,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ExpectedOutput {
    /// The output has the same bytes; an archive adds a header and padding.
    Same,
    Bytes(fn(&[u8]) -> Vec<u8>),
    /// One of the printed words.
    Word(fn(&[u8]) -> String),
    Status,
}

impl ExpectedOutput {
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Same | Self::Bytes(_))
    }
}

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Name of the program; empty: ours.
    program: &'static str,
    /// Arguments; `{input}`, `{same}` and `{output}` are replaced by paths.
    pub(super) words: &'static [&'static str],
    /// True if it reads its standard input.
    pub(super) reads: bool,
    /// True if it writes its output to standard output.
    pub(super) prints: bool,
}

const fn own_tool(words: &'static [&'static str]) -> Tool {
    Tool { name: OURS, program: "", words, reads: false, prints: false }
}

const fn peer_tool(name: &'static str, words: &'static [&'static str]) -> Tool {
    Tool { name, program: name, words, reads: false, prints: false }
}

/// Creates a tool of uutils, which is one program with subcommands.
const fn uutils(words: &'static [&'static str]) -> Tool {
    Tool { name: "uutils", program: "coreutils", words, reads: false, prints: false }
}

impl Tool {
    /// Returns the name of the program to look for; `None`: ours.
    pub(super) fn program(&self) -> Option<&'static str> {
        (!self.program.is_empty()).then_some(self.program)
    }
}

pub(super) const TASKS: &[CommandTask] = &[
    CommandTask {
        name: "copy",
        input: Input::Random,
        expected: ExpectedOutput::Same,
        tools: &[
            own_tool(&["copy", "{input}", "{output}"]),
            peer_tool("cp", &["{input}", "{output}"]),
            peer_tool("dd", &["if={input}", "of={output}", "bs=256K", "status=none"]),
            Tool { prints: true, ..peer_tool("cat", &["{input}"]) },
            peer_tool("tar", &["-cPf", "{output}", "{input}"]),
            uutils(&["cp", "{input}", "{output}"]),
            // A built-in of the shell of Windows, which copies by the system's own function.
            Tool {
                program: "cmd",
                ..peer_tool("copy", &["/d", "/c", "copy", "/b", "/y", "{input}", "{output}"])
            },
        ],
    },
    CommandTask {
        name: "count lines",
        input: Input::Text,
        expected: ExpectedOutput::Word(|text| text.iter().filter(|&&byte| byte == b'\n').count().to_string()),
        tools: &[
            own_tool(&["wc", "-l", "{input}"]),
            peer_tool("wc", &["-l", "{input}"]),
            uutils(&["wc", "-l", "{input}"]),
            Tool { reads: true, ..peer_tool("find", &["/c", "/v", ""]) },
        ],
    },
    CommandTask {
        name: "count words",
        input: Input::Text,
        expected: ExpectedOutput::Word(|text| {
            let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.count().to_string()
        }),
        tools: &[
            own_tool(&["wc", "-w", "{input}"]),
            peer_tool("wc", &["-w", "{input}"]),
            uutils(&["wc", "-w", "{input}"]),
        ],
    },
    CommandTask {
        name: "find a phrase",
        input: Input::Text,
        expected: ExpectedOutput::Word(|text| {
            matching(text, |line| line.windows(7).any(|part| part == b"was the"))
        }),
        tools: &[
            own_tool(&["grep", "-c", "-F", "was the", "{input}"]),
            peer_tool("grep", &["-c", "-F", "was the", "{input}"]),
            peer_tool("rg", &["-c", "-F", "was the", "{input}"]),
            Tool { reads: true, ..peer_tool("find", &["/c", "was the"]) },
        ],
    },
    CommandTask {
        name: "find a pattern",
        input: Input::Text,
        expected: ExpectedOutput::Word(|text| matching(text, ends_in_er)),
        tools: &[
            own_tool(&["grep", "-c", "[a-z]+er[ ,.]", "{input}"]),
            peer_tool("grep", &["-c", "-E", "[a-z]+er[ ,.]", "{input}"]),
            peer_tool("rg", &["-c", "[a-z]+er[ ,.]", "{input}"]),
        ],
    },
    CommandTask {
        name: "compare",
        input: Input::TwoTexts,
        expected: ExpectedOutput::Status,
        tools: &[
            own_tool(&["cmp", "{input}", "{same}"]),
            peer_tool("cmp", &["{input}", "{same}"]),
            peer_tool("fc", &["/b", "{input}", "{same}"]),
        ],
    },
    CommandTask {
        name: "sum blake3",
        input: Input::Random,
        expected: ExpectedOutput::Word(|data| sum("blake3", data)),
        tools: &[own_tool(&["sum", "-a", "blake3", "{input}"]), peer_tool("b3sum", &["{input}"])],
    },
    CommandTask {
        name: "sum sha256",
        input: Input::Random,
        expected: ExpectedOutput::Word(|data| sum("sha256", data)),
        tools: &[
            own_tool(&["sum", "-a", "sha256", "{input}"]),
            peer_tool("sha256sum", &["{input}"]),
            uutils(&["sha256sum", "{input}"]),
            peer_tool("certutil", &["-hashfile", "{input}", "SHA256"]),
        ],
    },
    CommandTask {
        name: "to capitals",
        input: Input::Text,
        expected: ExpectedOutput::Bytes(<[u8]>::to_ascii_uppercase),
        tools: &[
            own_tool(&["transform", "upper", "{input}", "{output}"]),
            Tool { reads: true, prints: true, ..peer_tool("tr", &["a-z", "A-Z"]) },
            Tool { reads: true, prints: true, ..uutils(&["tr", "a-z", "A-Z"]) },
        ],
    },
];

/// Counts the lines for which `has` holds, as text.
fn matching(text: &[u8], has: impl Fn(&[u8]) -> bool) -> String {
    text.split(|&byte| byte == b'\n').filter(|line| has(line)).count().to_string()
}

fn ends_in_er(line: &[u8]) -> bool {
    line.windows(4).any(|part| {
        part[0].is_ascii_lowercase() && &part[1..3] == b"er" && matches!(part[3], b' ' | b',' | b'.')
    })
}

fn sum(name: &str, data: &[u8]) -> String {
    Hash::named(name).map(|hash| hash.of(data).to_string()).unwrap_or_default()
}
