//! Variants: scalar or SIMD, hints, and other alternatives within an experiment.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, fastest};
use super::super::sweep::groups_ignoring;
use super::super::words::{subject, task, way};
use super::stream_buffer;
use crate::document::Labels;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let own: Vec<EligibleCell<'_>> = input
        .own()
        .into_iter()
        .filter(|w| w.labels.variant.as_deref().is_none_or(|v| stream_buffer::size(v).is_none()))
        .collect();
    let groups = groups_ignoring(&own, |l: &mut Labels| l.variant = None, &[]);
    groups.iter().filter_map(|group| of_group(group, input)).collect()
}

/// A variant's name; a cell without one is named by its counterpart.
fn name(eligible: &EligibleCell<'_>, other: &EligibleCell<'_>) -> String {
    match (&eligible.labels.variant, other.labels.variant.as_deref()) {
        (Some(variant), _) => variant.clone(),
        (None, Some("scalar")) => "vector instructions".into(),
        (None, Some("oldest first")) => "completion in any order".into(),
        (None, Some(other)) => format!("no “{other}”"),
        (None, None) => "the default".into(),
    }
}

/// The baseline of a group: the cell without a variant, or one called plain, scalar or none.
fn base<'a>(group: &[EligibleCell<'a>]) -> Option<EligibleCell<'a>> {
    let by = |wanted: &dyn Fn(&str) -> bool| {
        group.iter().copied().find(|w| wanted(&w.labels.variant.as_deref().unwrap_or("").to_lowercase()))
    };
    by(&|v| v.is_empty())
        .or_else(|| by(&|v| ["none", "plain", "default", "scalar"].iter().any(|word| v.contains(word))))
        .or_else(|| by(&|v| v.starts_with("no ")))
}

fn of_group<'a>(group: &[EligibleCell<'a>], input: &AdviceInput<'a>) -> Option<Candidate> {
    let best = fastest(group)?;
    let others: Vec<EligibleCell<'a>> = group.iter().copied().filter(|w| !w.is_same_cell(&best)).collect();
    let other =
        base(&others).or_else(|| others.iter().copied().min_by(|a, b| a.rate().total_cmp(&b.rate())))?;
    let (first, second) = (name(&best, &other), name(&other, &best));
    let ratio = NamedRatio::faster((first.as_str(), best), (second.as_str(), other), input)?;
    let bare = Labels { variant: None, ..best.labels.clone() };
    let text = format!(
        "Use {first} in {} with {}: {}, {} as fast as {second}{}.",
        task(&bare),
        way(&bare),
        ratio.rate(),
        ratio.times(),
        ratio.at_cost()
    );
    // One line covers all request sizes and files on which the same variants were measured.
    let topic = format!("variant|{}|{}|{first}|{second}", best.cell.experiment, subject(&bare));
    Some(ratio.candidate([], topic, text))
}
