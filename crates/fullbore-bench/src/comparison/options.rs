//! Documents to compare, and the options of a comparison: patterns of cells, conditions on which it fails.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
/// A pattern over whole ids: `*` matches any run of characters, slashes included, `?` any one character.
pub use wildmatch::WildMatch as Glob;

use super::change::{Judgement, Measure};
use super::difference::Aspect;
use crate::document::Document;
use crate::stats::Bootstrap;

/// Two runs of one machine differ by less than this share: in layout, heat, neighbours.
const SAME_WITHIN: f64 = 0.1;

/// A document with the name shown to users, such as its path.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name.
    pub name: &'a str,
    /// The document.
    pub document: &'a Document,
}

/// Options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Ratios within this share of 1 count as equal (0.1 is 10%).
    pub margin: f64,
    /// Parameters of the intervals.
    pub bootstrap: Bootstrap,
    /// Aspects in which the environments may differ.
    pub across: Vec<Aspect>,
    /// Patterns for the ids of the cells to compare; empty: all.
    pub only: Vec<Glob>,
    /// Conditions to fail on.
    pub conditions: Vec<Condition>,
}

impl Default for Options {
    /// All cells, 10%, 95% intervals, no difference allowed, no condition.
    fn default() -> Self {
        Self {
            margin: SAME_WITHIN,
            bootstrap: Bootstrap::default(),
            across: Vec::new(),
            only: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// A condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// A measure changed for the worse or for the better by more than a share.
    Changed {
        /// The measure; of CPU time, whichever cost a cell has.
        measure: Measure,
        /// Worse or better.
        judgement: Judgement,
        /// The share (0.05 is 5%): met by a rate below 1 − share or above 1 + share of the baseline's.
        share: f64,
    },
    /// A rate's verdict is unclear.
    Unclear,
    /// A cell of the baseline has no figure.
    Missing,
}

/// The changes that a condition may name, in the order of its messages.
const CHANGES: [(Measure, Judgement); 6] = [
    (Measure::Rate, Judgement::Worse),
    (Measure::Rate, Judgement::Better),
    (Measure::CostPerMb, Judgement::Worse),
    (Measure::CostPerMb, Judgement::Better),
    (Measure::LatencyP99, Judgement::Worse),
    (Measure::LatencyP99, Judgement::Better),
];

/// Parses a percentage of at least 0 as a share: `3%`, `2.5 %`, `3`.
///
/// # Errors
/// If `text` is not a share; the message names the form.
pub fn parse_share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent / 100.0),
        _ => Err(format!("\"{text}\" is not a percentage: write one such as 5%")),
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) = match text.split_once(':') {
            Some((name, share)) => (name, Some(parse_share(share)?)),
            None => (text, None),
        };
        match (name, share) {
            ("unclear", None) => return Ok(Self::Unclear),
            ("missing", None) => return Ok(Self::Missing),
            ("unclear" | "missing", Some(_)) => return Err(format!("{name} takes no share: write {name}")),
            _ => {}
        }
        let named = |(measure, judgement): &(Measure, Judgement)| judgement.word(*measure);
        let Some(&(measure, judgement)) = CHANGES.iter().find(|change| named(change) == name) else {
            let known: Vec<&str> = CHANGES.iter().map(named).collect();
            return Err(format!(
                "\"{name}\" is not one of {}, unclear, missing; for example slower:5%",
                known.join(", ")
            ));
        };
        let share = share.unwrap_or(0.0);
        if judgement.falls(measure) && share >= 1.0 {
            return Err(format!("{name} by 100% or more is impossible: name a smaller share"));
        }
        Ok(Self::Changed { measure, judgement, share })
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { measure, judgement, share } => {
                let name = judgement.word(*measure);
                // The share times 1e11, rounded, gives the percentage as written, without the division's rounding.
                let percent = (share * 1e11).round() / 1e9;
                if percent == 0.0 { write!(f, "{name}") } else { write!(f, "{name}:{percent}%") }
            }
            Self::Unclear => f.write_str("unclear"),
            Self::Missing => f.write_str("missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written() {
        let changed = |measure, judgement, share| Condition::Changed { measure, judgement, share };
        for (text, expected) in [
            ("slower:5%", changed(Measure::Rate, Judgement::Worse, 0.05)),
            ("faster:7.5%", changed(Measure::Rate, Judgement::Better, 0.075)),
            ("cpu-higher:150%", changed(Measure::CostPerMb, Judgement::Worse, 1.5)),
            ("shorter:1%", changed(Measure::LatencyP99, Judgement::Better, 0.01)),
            ("slower", changed(Measure::Rate, Judgement::Worse, 0.0)),
            ("unclear", Condition::Unclear),
            ("missing", Condition::Missing),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition, expected);
            assert_eq!(condition.to_string(), text);
        }
        assert_eq!("slower:5".parse::<Condition>(), "slower:5%".parse());
        for (text, kind) in [
            ("slower:", "percentage"),
            ("slower:-5%", "percentage"),
            ("slower:x%", "percentage"),
            ("slower:inf%", "percentage"),
            ("slower:100%", "smaller"),
            ("missing:5%", "no share"),
            ("better:5%", "faster"),
            ("", "slower"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(kind), "{text}: {error}");
        }
    }

    /// The definition, by exhaustive search.
    fn brute(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((&'*', rest)) => (0..=text.len()).any(|taken| brute(rest, &text[taken..])),
            Some((&c, rest)) => text.first().is_some_and(|&t| c == '?' || c == t) && brute(rest, &text[1..]),
        }
    }

    /// All texts of up to `longest` letters.
    fn texts(letters: &[char], longest: usize) -> Vec<Vec<char>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..longest {
            last = last
                .iter()
                .flat_map(|text| letters.iter().map(move |&c| text.iter().copied().chain([c]).collect()))
                .collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn matches_like_a_reference_glob() {
        for pattern in texts(&['a', 'b', '*', '?'], 4) {
            let glob = Glob::new(&pattern.iter().collect::<String>());
            for text in texts(&['a', 'b', '/'], 4) {
                let word: String = text.iter().collect();
                assert_eq!(glob.matches(&word), brute(&pattern, &text), "{glob} {word}");
            }
        }
    }

    #[test]
    fn whole_ids_with_slashes() {
        assert!(Glob::new("read/*/cold").matches("read/read/method=direct,request=4K/cold"));
        assert!(!Glob::new("read").matches("read/read/x"));
    }
}
