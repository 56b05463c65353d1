//! The syntax of fio's job files: sections of options; options of `[global]` apply to each job after it.

use super::notes::ImportError;

/// An option of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The line, from 1.
    pub(super) line: usize,
    /// Its name.
    pub(super) name: String,
    /// The text after `=`, if any.
    pub(super) value: Option<String>,
}

impl Entry {
    /// An error at this option.
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
    /// Its name.
    pub(super) name: String,
    /// The line of its header, from 1.
    pub(super) line: usize,
    /// Its options.
    pub(super) entries: Vec<Entry>,
}

/// Splits a job file into its jobs.
///
/// # Errors
/// If a line has another form, or needs another file.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, ImportError> {
    let mut global: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Section> = Vec::new();
    let mut in_global = false;
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
            in_global = name == "global";
            if !in_global {
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
}
