//! The regular expressions of the crate `regex` and of PCRE2.

use std::fmt;

use grep_matcher::{ByteSet, Captures, LineMatchKind, LineTerminator, Match, Matcher};
use grep_regex::{RegexCaptures, RegexMatcher, RegexMatcherBuilder};

use crate::settings::{Boundary, Case, Engine, Nuls, Settings};

#[derive(Debug, Clone)]
pub(crate) enum AnyMatcher {
    Rust(RegexMatcher),
    #[cfg(feature = "pcre2")]
    Pcre2(Box<grep_pcre2::RegexMatcher>),
}

#[derive(Debug, Clone)]
pub(crate) enum AnyCaptures {
    Rust(RegexCaptures),
    #[cfg(feature = "pcre2")]
    Pcre2(grep_pcre2::RegexCaptures),
}

/// The text of an engine's error during a search: a limit of PCRE2 was reached.
fn failed(error: impl fmt::Display) -> String {
    error.to_string()
}

impl AnyMatcher {
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        match settings.engine {
            Engine::Rust => rust(settings).map_err(|mut text| {
                if cfg!(feature = "pcre2") && (text.contains("backreferences") || text.contains("look-around")) {
                    text.push_str(
                        "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\n\
                         and look-around.",
                    );
                }
                text
            }),
            Engine::Pcre2 => pcre2(settings),
            Engine::Auto => rust(settings).or_else(|one| {
                log::debug!("the default engine refuses the pattern: {one}");
                pcre2(settings).map_err(|other| {
                    let line = "~".repeat(79);
                    format!(
                        "regex could not be compiled with either the default regex engine or with PCRE2.\n\n\
                         default regex engine error:\n{line}\n{one}\n{line}\n\nPCRE2 regex engine error:\n{other}"
                    )
                })
            }),
        }
    }
}

/// Returns version and features of PCRE2; `None` if the program was built without it.
pub fn pcre2_version() -> Option<String> {
    #[cfg(feature = "pcre2")]
    {
        let (major, minor) = grep_pcre2::version();
        let jit = if grep_pcre2::is_jit_available() { "available" } else { "unavailable" };
        Some(format!("PCRE2 {major}.{minor} is available (JIT is {jit})"))
    }
    #[cfg(not(feature = "pcre2"))]
    None
}

#[cfg(feature = "pcre2")]
fn pcre2(settings: &Settings) -> Result<AnyMatcher, String> {
    /// Size of the stack in bytes, enough for any pattern.
    const JIT_STACK: usize = 10 << 20;
    let mut builder = grep_pcre2::RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .fixed_strings(settings.fixed_strings)
        .caseless(settings.case == Case::Insensitive)
        .case_smart(settings.case == Case::Smart)
        .utf(settings.unicode)
        .ucp(settings.unicode)
        .crlf(settings.crlf)
        .dotall(settings.multiline && settings.multiline_dotall)
        .jit_if_available(true)
        .max_jit_stack_size(Some(JIT_STACK));
    match settings.boundary {
        Some(Boundary::Line) => builder.whole_line(true),
        Some(Boundary::Word) => builder.word(true),
        None => &mut builder,
    };
    let matcher = builder.build_many(&settings.patterns).map_err(|error| error.to_string())?;
    Ok(AnyMatcher::Pcre2(Box::new(matcher)))
}

#[cfg(not(feature = "pcre2"))]
fn pcre2(_: &Settings) -> Result<AnyMatcher, String> {
    Err("PCRE2 is not available in this build of fullbore".into())
}

fn rust(settings: &Settings) -> Result<AnyMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(settings.unicode)
        .octal(false)
        .fixed_strings(settings.fixed_strings)
        .case_insensitive(settings.case == Case::Insensitive)
        .case_smart(settings.case == Case::Smart);
    match settings.boundary {
        Some(Boundary::Line) => builder.whole_line(true),
        Some(Boundary::Word) => builder.word(true),
        None => &mut builder,
    };
    if settings.multiline {
        builder.dot_matches_new_line(settings.multiline_dotall);
        if settings.crlf {
            builder.crlf(true).line_terminator(None);
        }
    } else {
        builder.line_terminator(Some(b'\n')).dot_matches_new_line(false);
        if settings.crlf {
            builder.crlf(true);
        }
        if settings.null_data {
            builder.line_terminator(Some(0));
        }
    }
    if let Some(limit) = settings.regex_size_limit {
        builder.size_limit(limit);
    }
    if let Some(limit) = settings.dfa_size_limit {
        builder.dfa_size_limit(limit);
    }
    let text = settings.nuls == Nuls::Text || settings.null_data;
    if !text {
        builder.ban_byte(Some(0));
    }
    let matcher = builder.build_many(&settings.patterns).map_err(|error| {
        let mut text = error.to_string();
        if text.contains("the literal") && text.contains("not allowed") {
            text.push_str(
                "\n\nConsider enabling multiline mode with the --multiline flag (or -U for short).\n\
                 When multiline mode is enabled, new line characters can be matched.",
            );
        }
        if text.contains("pattern contains \"\\0\"") {
            text.push_str(
                "\n\nConsider enabling text mode with the --text flag (or -a for short). Otherwise,\n\
                 binary detection is enabled and matching a NUL byte is impossible.",
            );
        }
        text
    })?;
    Ok(AnyMatcher::Rust(matcher))
}

macro_rules! either {
    ($self:expr, $matcher:ident => $call:expr) => {
        match $self {
            Self::Rust($matcher) => $call,
            #[cfg(feature = "pcre2")]
            Self::Pcre2($matcher) => $call,
        }
    };
}

impl Matcher for AnyMatcher {
    type Captures = AnyCaptures;
    type Error = String;

    #[inline]
    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, String> {
        either!(self, matcher => matcher.find_at(haystack, at).map_err(failed))
    }

    fn new_captures(&self) -> Result<AnyCaptures, String> {
        match self {
            Self::Rust(matcher) => matcher.new_captures().map(AnyCaptures::Rust).map_err(failed),
            #[cfg(feature = "pcre2")]
            Self::Pcre2(matcher) => matcher.new_captures().map(AnyCaptures::Pcre2).map_err(failed),
        }
    }

    fn capture_count(&self) -> usize {
        either!(self, matcher => matcher.capture_count())
    }

    fn capture_index(&self, name: &str) -> Option<usize> {
        either!(self, matcher => matcher.capture_index(name))
    }

    fn try_find_iter<F, E>(&self, haystack: &[u8], matched: F) -> Result<Result<(), E>, String>
    where
        F: FnMut(Match) -> Result<bool, E>,
    {
        either!(self, matcher => matcher.try_find_iter(haystack, matched).map_err(failed))
    }

    fn captures_at(&self, haystack: &[u8], at: usize, captures: &mut AnyCaptures) -> Result<bool, String> {
        match (self, captures) {
            (Self::Rust(matcher), AnyCaptures::Rust(captures)) => {
                matcher.captures_at(haystack, at, captures).map_err(failed)
            }
            #[cfg(feature = "pcre2")]
            (Self::Pcre2(matcher), AnyCaptures::Pcre2(captures)) => {
                matcher.captures_at(haystack, at, captures).map_err(failed)
            }
            #[cfg(feature = "pcre2")]
            _ => Err(failed("the groups belong to another engine")),
        }
    }

    #[inline]
    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, String> {
        either!(self, matcher => matcher.shortest_match_at(haystack, at).map_err(failed))
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        either!(self, matcher => matcher.non_matching_bytes())
    }

    #[inline]
    fn line_terminator(&self) -> Option<LineTerminator> {
        either!(self, matcher => matcher.line_terminator())
    }

    #[inline]
    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, String> {
        either!(self, matcher => matcher.find_candidate_line(haystack).map_err(failed))
    }
}

impl Captures for AnyCaptures {
    fn len(&self) -> usize {
        either!(self, captures => captures.len())
    }

    fn get(&self, group: usize) -> Option<Match> {
        either!(self, captures => captures.get(group))
    }
}
