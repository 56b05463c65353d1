//! Peers: reports the tasks in which another program is faster.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, TaskKey, fastest};
use super::super::sweep::REQUEST;
use super::super::words::{subject, task, way};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let peers = input.all().iter().copied().filter(|w| w.labels.peer.is_some());
    peers.filter_map(|peer| of_peer(peer, input)).collect()
}

/// Fullbore's cell for the same task: the one with equal labels, otherwise the fastest.
fn ours<'a>(peer: &EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<EligibleCell<'a>> {
    let circumstances = |w: &EligibleCell<'_>| {
        let l = w.labels;
        (l.load_per_s, l.memory_limit_bytes, l.streams, l.targets, l.chunk_bytes, l.offset_bytes)
    };
    let rivals: Vec<EligibleCell<'a>> = input
        .all()
        .iter()
        .copied()
        .filter(|w| {
            w.labels.peer.is_none()
                && TaskKey::of(w.cell) == TaskKey::of(peer.cell)
                && circumstances(w) == circumstances(peer)
                && (peer.labels.request_bytes.is_none() || REQUEST.same(w.labels, peer.labels))
        })
        .collect();
    let twin = |w: &&EligibleCell<'_>| {
        let (a, b) = (w.labels, peer.labels);
        (&a.method, a.depth, a.workers) == (&b.method, b.depth, b.workers)
    };
    rivals.iter().copied().find(|w| twin(&w)).or_else(|| fastest(&rivals))
}

fn of_peer<'a>(peer: EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let ours = ours(&peer, input)?;
    let name = peer.labels.peer.as_deref()?;
    let how = way(ours.labels);
    let ratio = NamedRatio::faster((name, peer), (format!("fullbore, {how}"), ours), input)?;
    let size = peer.labels.request_bytes.map_or_else(String::new, |at| format!(" at {}", units::size(at)));
    let text = format!(
        "In {}{size}, {name} is faster than fullbore: {}, {} as fast as fullbore ({how}).",
        task(ours.labels),
        ratio.rate(),
        ratio.times()
    );
    Some(ratio.candidate([], format!("peer|{name}|{}", subject(ours.labels)), text))
}
