//! What commands are run for: the tasks, and how each tool is told to do one.
//!
//! They are here and not in files of experiments: an experiment shall not be able to run whatever it names.

use fullbore::operation::hash::{Hash, hex};

/// The word for our own program, as a tool.
pub(super) const OURS: &str = "fullbore";

/// Something that a person has a command for.
#[derive(Debug)]
pub(super) struct CommandTask {
    /// Its name in a grid and in labels.
    pub(super) name: &'static str,
    /// What it is done to.
    pub(super) input: Input,
    /// Whether a file comes out.
    pub(super) makes: bool,
    /// How the answer to a small input is known.
    pub(super) expected: ExpectedOutput,
    /// Who can do it, ours first.
    pub(super) tools: &'static [Tool],
}

/// The input of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// Random bytes.
    Random,
    /// Text.
    Text,
    /// Two texts that are the same.
    TwoTexts,
}

/// What must come of an input.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExpectedOutput {
    /// The output holds the same bytes; an archive has more around them.
    Same,
    /// The output holds these bytes.
    Bytes(fn(&[u8]) -> Vec<u8>),
    /// The first word that is printed.
    Word(fn(&[u8]) -> String),
    /// The exit status alone.
    Status,
}

/// A tool for a task.
#[derive(Debug)]
pub(super) struct Tool {
    /// Its name in a grid and in labels.
    pub(super) name: &'static str,
    /// The program; empty: ours.
    program: &'static str,
    /// Its words; `{input}`, `{same}` and `{output}` stand for paths.
    pub(super) words: &'static [&'static str],
    /// Whether it reads its standard input.
    pub(super) reads: bool,
    /// Whether it writes the output to its standard output.
    pub(super) prints: bool,
}

const fn own_tool(words: &'static [&'static str]) -> Tool {
    Tool { name: OURS, program: "", words, reads: false, prints: false }
}

const fn peer_tool(name: &'static str, words: &'static [&'static str]) -> Tool {
    Tool { name, program: name, words, reads: false, prints: false }
}

/// The tools of uutils are one program.
const fn uutils(words: &'static [&'static str]) -> Tool {
    Tool { name: "uutils", program: "coreutils", words, reads: false, prints: false }
}

impl Tool {
    /// The program as it is looked for; `None`: ours.
    pub(super) fn program(&self) -> Option<&'static str> {
        (!self.program.is_empty()).then_some(self.program)
    }
}

/// Every task.
pub(super) const TASKS: &[CommandTask] = &[
    CommandTask {
        name: "copy",
        input: Input::Random,
        makes: true,
        expected: ExpectedOutput::Same,
        tools: &[
            own_tool(&["copy", "{input}", "{output}"]),
            peer_tool("cp", &["{input}", "{output}"]),
            peer_tool("dd", &["if={input}", "of={output}", "bs=256K", "status=none"]),
            Tool { prints: true, ..peer_tool("cat", &["{input}"]) },
            peer_tool("tar", &["-cPf", "{output}", "{input}"]),
            uutils(&["cp", "{input}", "{output}"]),
        ],
    },
    CommandTask {
        name: "count lines",
        input: Input::Text,
        makes: false,
        expected: ExpectedOutput::Word(|text| text.iter().filter(|&&byte| byte == b'\n').count().to_string()),
        tools: &[
            own_tool(&["wc", "-l", "{input}"]),
            peer_tool("wc", &["-l", "{input}"]),
            uutils(&["wc", "-l", "{input}"]),
        ],
    },
    CommandTask {
        name: "count words",
        input: Input::Text,
        makes: false,
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
        makes: false,
        expected: ExpectedOutput::Word(|text| {
            matching(text, |line| line.windows(7).any(|part| part == b"was the"))
        }),
        tools: &[
            own_tool(&["grep", "-c", "-F", "was the", "{input}"]),
            peer_tool("grep", &["-c", "-F", "was the", "{input}"]),
            peer_tool("rg", &["-c", "-F", "was the", "{input}"]),
        ],
    },
    CommandTask {
        name: "find a pattern",
        input: Input::Text,
        makes: false,
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
        makes: false,
        expected: ExpectedOutput::Status,
        tools: &[own_tool(&["cmp", "{input}", "{same}"]), peer_tool("cmp", &["{input}", "{same}"])],
    },
    CommandTask {
        name: "sum blake3",
        input: Input::Random,
        makes: false,
        expected: ExpectedOutput::Word(|data| sum("blake3", data)),
        tools: &[own_tool(&["sum", "-a", "blake3", "{input}"]), peer_tool("b3sum", &["{input}"])],
    },
    CommandTask {
        name: "sum sha256",
        input: Input::Random,
        makes: false,
        expected: ExpectedOutput::Word(|data| sum("sha256", data)),
        tools: &[
            own_tool(&["sum", "-a", "sha256", "{input}"]),
            peer_tool("sha256sum", &["{input}"]),
            uutils(&["sha256sum", "{input}"]),
        ],
    },
    CommandTask {
        name: "to capitals",
        input: Input::Text,
        makes: true,
        expected: ExpectedOutput::Bytes(<[u8]>::to_ascii_uppercase),
        tools: &[
            own_tool(&["transform", "upper", "{input}", "{output}"]),
            Tool { reads: true, prints: true, ..peer_tool("tr", &["a-z", "A-Z"]) },
            Tool { reads: true, prints: true, ..uutils(&["tr", "a-z", "A-Z"]) },
        ],
    },
];

/// How many lines have something.
fn matching(text: &[u8], has: impl Fn(&[u8]) -> bool) -> String {
    text.split(|&byte| byte == b'\n').filter(|line| has(line)).count().to_string()
}

/// As `[a-z]+er[ ,.]`.
fn ends_in_er(line: &[u8]) -> bool {
    line.windows(4).any(|part| {
        part[0].is_ascii_lowercase() && &part[1..3] == b"er" && matches!(part[3], b' ' | b',' | b'.')
    })
}

fn sum(name: &str, data: &[u8]) -> String {
    Hash::named(name).map(|hash| hex(&hash.of(data))).unwrap_or_default()
}
