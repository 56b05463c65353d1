//! Cells as job files for fio: a cell of a results document, or the strategy chosen for a kind of job.

use std::path::Path;

use fullbore::size;

use super::shape::{HUGE_PAGES, Setting, Shape, Unsupported, percentiles, shape};
use crate::document::{CacheState, Cell, Document, FileState, Labels};

/// The properties of a job file beyond those of the cell.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The name of the job.
    pub name: &'a str,
    /// The file it reads or writes; fio creates it if it does not exist.
    pub file: &'a Path,
    /// The length of the file in bytes.
    pub size: u64,
    /// Run time in seconds; a job that needs a cold file, or creates one, ends with the file.
    pub seconds: u64,
}

/// Writes the job file of a cell.
///
/// ```
/// use fullbore_bench::document::Labels;
/// use fullbore_bench::fio::{Target, job};
/// let labels = Labels {
///     request_bytes: Some(4096),
///     depth: Some(32),
///     cache_policy: Some("direct".into()),
///     order: Some("random".into()),
///     ..Labels::of("read", "uring")
/// };
/// let target = Target { name: "deep", file: "test".as_ref(), size: 1 << 30, seconds: 10 };
/// let text = job(&labels, &target).unwrap();
/// assert!(text.contains("[deep]\n") && text.contains("ioengine=io_uring\n") && text.contains("iodepth=32\n"));
/// ```
///
/// # Errors
/// If fio has no counterpart of a property of the cell.
pub fn job(labels: &Labels, target: &Target<'_>) -> Result<String, Unsupported> {
    let mut shape = shape(labels)?;
    let mut settings = vec![("filename", escaped(target.file)?)];
    let request = i128::from(shape.request);
    // As far before or after a multiple of the request size, within the file.
    let offset = i128::from(labels.offset_bytes.unwrap_or(0)).rem_euclid(request) as u64;
    let margin = if offset > 0 { shape.request } else { 0 };
    let mut span = (target.size - target.size % shape.request).saturating_sub(margin);
    if let Some(stripe) = shape.stripe {
        // Every job covers as much as the last one can.
        let lap = stripe.saturating_mul(shape.workers);
        span = span.checked_div(lap).unwrap_or(0) * lap;
        span = span.saturating_sub(stripe.saturating_mul(shape.workers - 1));
    }
    if span == 0 {
        return Err(Unsupported(format!("a file of {} is too small", size::human(target.size))));
    }
    settings.append(&mut shape.settings);
    if shape.half {
        settings.push(("filesize", target.size.to_string()));
        settings.push(("size", "50%".into()));
    } else {
        settings.push(("size", span.to_string()));
    }
    if offset > 0 {
        settings.push(("offset", offset.to_string()));
    }
    let mut once = state_of_the_cache(labels, &shape, &mut settings)?;
    once |= state_of_the_file(labels, &shape, &mut settings);
    if once {
        shape
            .remarks
            .push("it covers the file once: a second pass would find another cache or file state".into());
    } else {
        settings.push(("time_based", "1".into()));
    }
    if shape.huge {
        let (name, value) = HUGE_PAGES;
        shape.remarks.push(format!(
            "fullbore's buffers are on huge pages: run fio with {name}={value} for the same effect"
        ));
    }
    settings.push(("runtime", target.seconds.max(1).to_string()));
    settings.extend(percentiles());
    Ok(text(labels, target, &shape.remarks, &settings))
}

/// Adds the settings for the page-cache state; true if they hold for one pass only.
fn state_of_the_cache(
    labels: &Labels,
    shape: &Shape,
    settings: &mut Vec<Setting>,
) -> Result<bool, Unsupported> {
    let (invalidate, once) = match labels.cache {
        Some(CacheState::Warm) => (false, false),
        Some(CacheState::Mixed) => return Err(Unsupported("fio cannot cache part of a file".into())),
        Some(CacheState::Cold) => (true, !shape.direct),
        None => (shape.direct || !shape.writes, false),
    };
    settings.push(("invalidate", u8::from(invalidate).to_string()));
    if labels.cache == Some(CacheState::Warm) {
        settings.push(("pre_read", "1".into()));
    }
    Ok(once)
}

/// Adds the settings for the file state; true if they hold for one pass only.
fn state_of_the_file(labels: &Labels, shape: &Shape, settings: &mut Vec<Setting>) -> bool {
    let (options, once): (&[(&'static str, &str)], bool) = match labels.file_state {
        _ if !shape.writes => (&[], false),
        Some(FileState::Extended) => {
            (&[("fallocate", "none"), ("create_on_open", "1"), ("unlink", "1")], true)
        }
        Some(FileState::Preallocated) => (&[("fallocate", "native"), ("unlink", "1")], true),
        _ => (&[("overwrite", "1")], false),
    };
    settings.extend(options.iter().map(|&(name, value)| (name, value.into())));
    once
}

/// A file name in fio's syntax, in which a colon separates names.
fn escaped(file: &Path) -> Result<String, Unsupported> {
    match file.to_str() {
        Some(name) if !name.contains(|c: char| c.is_control() || ";#$%".contains(c)) => {
            Ok(name.replace(':', "\\:"))
        }
        _ => Err(Unsupported(format!("{}: fio does not support this file name", file.display()))),
    }
}

fn text(labels: &Labels, target: &Target<'_>, remarks: &[String], settings: &[Setting]) -> String {
    // The labels may be those of another's document: no text ends a comment.
    let comment = |text: &str| format!("; {}\n", text.replace(char::is_control, " "));
    let mut text = comment(&format!("fullbore: {}", labels.describe()));
    text.extend(remarks.iter().map(|remark| comment(remark)));
    let name: String =
        target.name.chars().map(|c| if c.is_control() || "[];#".contains(c) { '_' } else { c }).collect();
    // fio takes every section whose name begins so as the defaults of others.
    let prefix = if name.to_ascii_lowercase().starts_with("global") { "_" } else { "" };
    text += &format!("[{prefix}{name}]\n");
    for (name, value) in settings {
        text += &format!("{name}={}\n", value.replace(char::is_control, " "));
    }
    text
}

/// Source of an exported job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSource<'a> {
    /// The cell with this id.
    Cell(&'a str),
    /// The strategy chosen for a kind of job: `read, cold`, or `read` for any measured cache state.
    Choice(&'a str),
}

/// Writes the job file of `wanted` from `document`, for a file in `directory`.
///
/// # Errors
/// If there is no such cell or choice (the message lists those that exist); if fio has no counterpart.
pub fn export(document: &Document, wanted: JobSource<'_>, directory: &Path) -> Result<String, Unsupported> {
    match wanted {
        JobSource::Cell(id) => one(document, cell(document, id)?, id, directory),
        JobSource::Choice(kind) => {
            let choices = &document.findings.choices;
            let fits =
                |job: &str| job == kind || job.strip_prefix(kind).is_some_and(|rest| rest.starts_with(", "));
            let fitting: Vec<_> = choices.iter().filter(|choice| fits(&choice.job)).collect();
            if fitting.is_empty() {
                let known: Vec<&str> = choices.iter().map(|choice| choice.job.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join("; ") };
                return Err(Unsupported(format!(
                    "no strategy was chosen for {kind:?}; there are strategies for: {known}"
                )));
            }
            let mut text = String::new();
            for choice in fitting {
                let first = text.is_empty();
                text += if first { "" } else { "\n" };
                text += &one(document, cell(document, &choice.cell)?, &choice.job, directory)?;
                // Sequential, as they were measured.
                text += if first { "" } else { "stonewall\n" };
            }
            Ok(text)
        }
    }
}

fn cell<'d>(document: &'d Document, id: &str) -> Result<&'d Cell, Unsupported> {
    document.cell(id).ok_or_else(|| {
        let near: Vec<&str> = document
            .cells
            .iter()
            .map(|cell| cell.id.as_str())
            .filter(|known| known.contains(id))
            .take(5)
            .collect();
        let hint = match near.is_empty() {
            true => "the results document lists all cells".to_owned(),
            false => format!("ids that contain it: {}", near.join(", ")),
        };
        Unsupported(format!("no cell {id:?}; {hint}"))
    })
}

fn one(document: &Document, cell: &Cell, name: &str, directory: &Path) -> Result<String, Unsupported> {
    let file = directory.join("fullbore-fio-test");
    let size = cell.labels.file_bytes.unwrap_or(document.run.file_bytes);
    job(&cell.labels, &Target { name, file: &file, size, seconds: 10 })
        .map_err(|Unsupported(why)| Unsupported(format!("{}: fio has no counterpart: {why}", cell.id)))
}
