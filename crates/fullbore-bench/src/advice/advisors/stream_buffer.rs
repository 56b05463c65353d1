//! The buffer of a stream: the sizes of calls for which it pays, and its size.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, fastest};
use super::super::ratio::AT_PEAK;
use super::super::sweep::groups_ignoring;
use super::super::words::{subject, task, way};
use crate::document::Labels;
use crate::units;

/// Buffer size in bytes of a variant (`buffer 64K`, `buffer 4 KiB`, `no buffer`); `None` for other variants.
pub(super) fn size(variant: &str) -> Option<u64> {
    let text = variant.to_lowercase().replace("stream ", "").replace('=', " ");
    match text.trim() {
        "no buffer" | "unbuffered" | "buffer none" => Some(0),
        other => {
            let said = other.strip_prefix("buffer ")?.replace(' ', "").replace("ib", "");
            fullbore::size::parse(said.to_uppercase().as_str()).ok()
        }
    }
}

fn of(eligible: &EligibleCell<'_>) -> Option<u64> {
    size(eligible.labels.variant.as_deref()?)
}

fn name(size: u64) -> String {
    if size == 0 { "no buffer".into() } else { format!("a buffer of {}", units::size(size)) }
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let described: Vec<EligibleCell<'_>> = input.own().into_iter().filter(|w| of(w).is_some()).collect();
    // Sizes of calls are ignored: cells that differ in buffer and call only.
    let groups = groups_ignoring(
        &described,
        |l: &mut Labels| (l.variant, l.request_bytes) = (None, None),
        &["request"],
    );
    groups.iter().filter_map(|group| of_group(group, input)).collect()
}

fn of_group<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let (bare, buffered): (Vec<_>, Vec<_>) = group.iter().copied().partition(|w| of(w) == Some(0));
    let call = |w: &EligibleCell<'_>| w.labels.request_bytes.unwrap_or(0);
    let mut calls: Vec<u64> = group.iter().map(call).collect();
    calls.sort_unstable();
    calls.dedup();
    // Size of call, and the ratio of the smallest buffer near the best to the unbuffered cell.
    let compared: Vec<_> = calls
        .into_iter()
        .filter_map(|size| {
            let here: Vec<EligibleCell<'a>> = buffered.iter().copied().filter(|w| call(w) == size).collect();
            let top = fastest(&here)?.rate();
            let near = here.into_iter().filter(|w| w.rate() >= AT_PEAK * top);
            let best = near.min_by_key(|w| of(w))?;
            let none = bare.iter().copied().find(|w| call(w) == size)?;
            Some((size, NamedRatio::of((name(of(&best)?), best), ("no buffer", none), input)?))
        })
        .collect();
    let pays = |c: &&(u64, NamedRatio<'_>)| c.1.found.is_greater();
    let gain = |c: &(u64, NamedRatio<'_>)| c.1.found.estimate.value;
    let (at, ratio) = compared.iter().filter(pays).max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let useless = compared.iter().find(|c| !compared.iter().filter(|d| d.0 >= c.0).any(|d| pays(&d)));
    let until = match useless {
        Some((size, ..)) => format!("; no gain from calls of {} up", units::size(*size)),
        None => String::new(),
    };
    let bare = Labels { variant: None, request_bytes: None, ..ratio.first.1.labels.clone() };
    let text = format!(
        "Use {} per stream for {} with {} in calls of {}: {}, {} as fast as unbuffered{until}.",
        ratio.first.0,
        task(&bare),
        way(&bare),
        units::size(*at),
        ratio.rate(),
        ratio.times()
    );
    Some(ratio.candidate([], format!("buffer|{}", subject(&bare)), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_sizes_are_parsed_from_variants() {
        for (text, bytes) in [
            ("buffer 4096", Some(4096)),
            ("buffer 64K", Some(65536)),
            ("stream buffer 4 KiB", Some(4096)),
            ("buffer=1M", Some(1 << 20)),
            ("no buffer", Some(0)),
            ("scalar", None),
            ("buffer of gold", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }
}
