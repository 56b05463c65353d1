//! A cell as a job file of fio's, which runs without us.

use std::path::Path;

use fullbore::size;

use super::shape::{HUGE_PAGES, Shape, percentiles, shape};
use super::{Setting, Unsupported};
use crate::document::{CacheState, Labels};

/// What a job file says beside the cell itself.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The name of the job.
    pub name: &'a str,
    /// The file it reads or writes; fio makes it where it is not there.
    pub file: &'a Path,
    /// The length of the file in bytes.
    pub size: u64,
    /// How long it runs in seconds; one that must find a cold file, or makes one, ends where the file does.
    pub seconds: u64,
}

/// The job file of a cell.
///
/// ```
/// use fullbore_bench::document::Labels;
/// use fullbore_bench::fio::{Target, job};
/// let labels = Labels {
///     operation: "read".into(),
///     method: "uring".into(),
///     request_bytes: Some(4096),
///     depth: Some(32),
///     cache_policy: Some("direct".into()),
///     order: Some("random".into()),
///     ..Labels::default()
/// };
/// let target = Target { name: "deep", file: "test".as_ref(), size: 1 << 30, seconds: 10 };
/// let text = job(&labels, &target).unwrap();
/// assert!(text.contains("[deep]\n") && text.contains("ioengine=io_uring\n") && text.contains("iodepth=32\n"));
/// ```
///
/// # Errors
/// What of the cell fio has no counterpart of.
pub fn job(labels: &Labels, target: &Target<'_>) -> Result<String, Unsupported> {
    let mut shape = shape(labels)?;
    let mut settings = vec![("filename", escaped(target.file)?)];
    let request = i128::from(shape.request);
    // As far before or behind a multiple of the request, within the file.
    let offset = i128::from(labels.offset_bytes.unwrap_or(0)).rem_euclid(request) as u64;
    let mut span = (target.size - target.size % shape.request).saturating_sub(if offset > 0 {
        shape.request
    } else {
        0
    });
    if let Some(stripe) = shape.stripe {
        // Every job goes as far as the last one can.
        let lap = stripe * shape.workers;
        span = (span / lap * lap).saturating_sub(stripe * (shape.workers - 1));
    }
    if span == 0 {
        return Err(Unsupported(format!("a file of {} is too small for it", size::human(target.size))));
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
            .push("it goes over the file once: what comes after would not be what it is measured for".into());
    } else {
        settings.push(("time_based", "1".into()));
    }
    if shape.huge {
        let (name, value) = HUGE_PAGES;
        shape
            .remarks
            .push(format!("fullbore's buffers are on huge pages: run fio with {name}={value} for the same"));
    }
    settings.push(("runtime", target.seconds.max(1).to_string()));
    settings.extend(percentiles());
    Ok(text(labels, target, &shape.remarks, &settings))
}

/// Says how the page cache comes to hold the file or not; whether that is true only once.
fn state_of_the_cache(
    labels: &Labels,
    shape: &Shape,
    settings: &mut Vec<Setting>,
) -> Result<bool, Unsupported> {
    let invalidate = |yes: bool| ("invalidate", u8::from(yes).to_string());
    match labels.cache {
        Some(CacheState::Warm) => {
            settings.push(invalidate(false));
            settings.push(("pre_read", "1".into()));
            Ok(false)
        }
        Some(CacheState::Mixed) => {
            Err(Unsupported("fio cannot bring a part of a file into the cache".into()))
        }
        Some(CacheState::Cold) => {
            settings.push(invalidate(true));
            Ok(!shape.direct)
        }
        None => {
            settings.push(invalidate(shape.direct || !shape.writes));
            Ok(false)
        }
    }
}

/// Says what a write finds; whether that is true only once.
fn state_of_the_file(labels: &Labels, shape: &Shape, settings: &mut Vec<Setting>) -> bool {
    if !shape.writes {
        return false;
    }
    match labels.file_state.as_deref() {
        Some("extended") => {
            settings.push(("fallocate", "none".into()));
            settings.push(("create_on_open", "1".into()));
            settings.push(("unlink", "1".into()));
            true
        }
        Some("preallocated") => {
            settings.push(("fallocate", "keep".into()));
            settings.push(("unlink", "1".into()));
            true
        }
        _ => {
            settings.push(("overwrite", "1".into()));
            false
        }
    }
}

/// A name as fio takes it: a colon separates names.
fn escaped(file: &Path) -> Result<String, Unsupported> {
    match file.to_str() {
        Some(name) if !name.contains(['\n', ';', '#', '$', '%']) => Ok(name.replace(':', "\\:")),
        _ => Err(Unsupported(format!("{}: fio takes no such name of a file", file.display()))),
    }
}

fn text(labels: &Labels, target: &Target<'_>, remarks: &[String], settings: &[Setting]) -> String {
    let mut text = format!("; fullbore: {}\n", labels.describe());
    for remark in remarks {
        text += &format!("; {remark}\n");
    }
    let name: String =
        target.name.chars().map(|c| if c.is_control() || "[];#".contains(c) { '_' } else { c }).collect();
    text += &format!("[{name}]\n");
    for (name, value) in settings {
        text += &format!("{name}={value}\n");
    }
    text
}
