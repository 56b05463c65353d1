//! The syntax of fio's job files: sections, options and their values; notes on options that are not imported.

use std::collections::{BTreeMap, BTreeSet};

use fullbore::quote::clipped;

/// An option of a job file that cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}: {why}", clipped(.option))]
pub struct ImportError {
    /// The line, from 1.
    pub line: usize,
    /// The option as written; messages clip it.
    pub option: String,
    /// The reason, and the remedy.
    pub why: String,
}

/// Notes, with the options of one reason together.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, BTreeSet<String>>);

impl Notes {
    /// Adds an option (empty: none in particular) with the reason why it is ignored or changed.
    pub(super) fn add(&mut self, option: &str, why: &str) {
        let options = self.0.entry(why.to_owned()).or_default();
        if !option.is_empty() {
            options.insert(option.to_owned());
        }
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
            .into_iter()
            .map(|(why, options)| match options.is_empty() {
                true => why,
                false => format!("{}: {why}", Vec::from_iter(options).join(", ")),
            })
            .collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The line, from 1.
    pub(super) line: usize,
    pub(super) name: String,
    /// The text after `=`, if any.
    pub(super) value: Option<String>,
}

impl Entry {
    pub(super) fn wrong(&self, why: impl Into<String>) -> ImportError {
        let option = match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        };
        ImportError { line: self.line, option, why: why.into() }
    }
}

/// A job with the options of the global sections before it; of repeated options the last one counts.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: String,
    /// The line of its header, from 1.
    pub(super) line: usize,
    pub(super) entries: Vec<Entry>,
}

/// The most options that jobs take from global sections, and jobs.
const MOST_ENTRIES: usize = 1_000_000;

/// Splits a job file into its jobs.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, ImportError> {
    let mut global: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Section> = Vec::new();
    let mut in_global = false;
    let mut copied = 0;
    for (index, whole) in text.lines().enumerate() {
        let line = index + 1;
        // fio starts a comment at either sign, anywhere in a line.
        let described = whole.split([';', '#']).next().unwrap_or_default().trim();
        if described.is_empty() {
            continue;
        }
        let wrong = |why: &str| ImportError { line, option: described.to_owned(), why: why.to_owned() };
        if let Some(rest) = described.strip_prefix('[') {
            let Some((name, "")) = rest.split_once(']') else { return Err(wrong("no job name in [ ]")) };
            // fio compares only the first letters.
            in_global = name.starts_with("global");
            if !in_global {
                copied += 1 + global.len();
                if copied > MOST_ENTRIES {
                    return Err(wrong(
                        "the jobs before have too many options of [global] sections: divide the file",
                    ));
                }
                jobs.push(Section { name: name.to_owned(), line, entries: global.clone() });
            }
            continue;
        }
        let (name, value) = match described.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().to_owned())),
            None => (described, None),
        };
        if name.split_whitespace().count() > 1 {
            return Err(match name.strip_prefix("include ") {
                Some(_) => wrong("included files are not read: insert their text"),
                None => wrong("neither [job] nor option=value"),
            });
        }
        if value.as_ref().is_some_and(|value| value.contains('$')) {
            return Err(wrong("variables are not expanded: write the value"));
        }
        let entry = Entry { line, name: name.to_owned(), value };
        match (in_global, jobs.last_mut()) {
            (true, _) => global.push(entry),
            (false, Some(job)) => job.entries.push(entry),
            (false, None) => return Err(wrong("before any [job]")),
        }
    }
    Ok(jobs)
}

/// Splits a lower-case text after its leading digits.
fn number_and_unit(lower: &str) -> (&str, &str) {
    lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()))
}

/// Parses a size in bytes as fio does: `4k` and `4kb` are 4096.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = number_and_unit(&lower);
    let wrong = || "not a size: digits, then k, m, g, t or p".to_owned();
    let power = match unit {
        "" | "b" => 0,
        "k" | "kb" => 1,
        "m" | "mb" => 2,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        "p" | "pb" => 5,
        _ if unit.ends_with("ib") || unit.ends_with('i') => {
            return Err("fio's kb_base decides between powers of 1000 and 1024: write 4k for 4096".into());
        }
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << (10 * power)).ok_or_else(|| "too large".into())
}

/// Parses a time in seconds; the default unit is the second.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = number_and_unit(&lower);
    let wrong = || "not a time: digits, then d, h, m, s, ms or us".to_owned();
    let factor = match unit {
        "" | "s" => 1.0,
        "d" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return Err(wrong()),
    };
    number.parse::<u32>().map(|number| f64::from(number) * factor).map_err(|_| wrong())
}

/// Parses a switch; an option without a value is on.
pub(super) fn switch(value: Option<&str>) -> Result<bool, String> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(_) => Err("not a switch: 0 or 1".into()),
    }
}

pub(super) fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_the_global_options_before_it() {
        let text = "; words\n[global]\nbs=4k # more\n direct = 1\n\n[a]\ntime_based\n[global]\nbs=8k\n[b c]\nrw=read";
        let jobs = sections(text).unwrap();
        assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["a", "b c"]);
        let described = |job: &Section| {
            job.entries.iter().map(|e| (e.line, e.name.clone(), e.value.clone())).collect::<Vec<_>>()
        };
        let some = |value: &str| Some(value.to_owned());
        assert_eq!(
            described(&jobs[0]),
            [
                (3, "bs".to_owned(), some("4k")),
                (4, "direct".to_owned(), some("1")),
                (7, "time_based".to_owned(), None)
            ]
        );
        assert_eq!(described(&jobs[1])[2], (9, "bs".to_owned(), some("8k")));
        let names: Vec<_> = sections("[globals]\nbs=1m\n[Global]\n").unwrap();
        assert_eq!(
            names.iter().map(|job| (&*job.name, job.entries.len())).collect::<Vec<_>>(),
            [("Global", 1)]
        );
    }

    #[test]
    fn invalid_lines_are_reported() {
        let error = |text: &str| sections(text).unwrap_err().to_string();
        assert!(error("bs=4k").contains("before any"));
        assert!(error("[a]\ninclude other.fio").starts_with("line 2: "));
        assert!(error("[a\n").contains("[ ]"));
        assert!(error("[a]\nfilename=${DISK}").contains("variables"));
        assert!(error("[a]\nhello there").contains("neither"));
    }

    #[test]
    fn sizes_parse_as_in_fio() {
        for (text, expected) in
            [("4k", 4096), ("4K", 4096), ("4kb", 4096), ("1m", 1 << 20), ("512", 512), ("2g", 2 << 30)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["4kib", "4ki", "1.5k", "4 k", "", "k", "4x", "99999999999p"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_switches() {
        assert_eq!(seconds("30"), Ok(30.0));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert!(seconds("soon").is_err());
        assert_eq!((switch(None), switch(Some("1")), switch(Some("0"))), (Ok(true), Ok(true), Ok(false)));
        assert!(switch(Some("maybe")).is_err());
        assert_eq!(count("7"), Ok(7));
        assert!(count("-1").is_err());
    }
}
