//! Peers: where another program is faster than this one, that is said.

use super::super::contrast::speed;
use super::super::line::REQUEST;
use super::super::tip::Tip;
use super::super::witness::{Ground, Task, Witness, fastest};
use super::super::words::{against, subject, task, times, way};
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let peers = ground.all().iter().copied().filter(|w| w.labels.peer.is_some());
    peers.filter_map(|peer| of_peer(peer, ground)).collect()
}

/// Our own cell for the same: the very same labels if there are, otherwise the fastest of the same task.
fn ours<'a>(peer: &Witness<'a>, ground: &Ground<'a>) -> Option<Witness<'a>> {
    let circumstances = |w: &Witness<'_>| {
        let l = w.labels;
        (l.load_per_s, l.memory_limit_bytes, l.streams, l.targets, l.chunk_bytes, l.offset_bytes)
    };
    let rivals: Vec<Witness<'a>> = ground
        .all()
        .iter()
        .copied()
        .filter(|w| {
            w.labels.peer.is_none()
                && Task::of(w.cell) == Task::of(peer.cell)
                && circumstances(w) == circumstances(peer)
                && (peer.labels.request_bytes.is_none() || REQUEST.same(w.labels, peer.labels))
        })
        .collect();
    let twin = |w: &&Witness<'_>| {
        let (a, b) = (w.labels, peer.labels);
        (&a.method, a.depth, a.workers) == (&b.method, b.depth, b.workers)
    };
    rivals.iter().copied().find(|w| twin(&w)).or_else(|| fastest(&rivals))
}

fn of_peer(peer: Witness<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let ours = ours(&peer, ground)?;
    let found = speed(peer, ours, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let name = peer.labels.peer.as_deref()?;
    let size = peer.labels.request_bytes.map_or_else(String::new, |at| format!(" at {}", units::size(at)));
    let text = format!(
        "In {}{size} {name} gets more out of this storage than fullbore: {}, {} as fast as ours ({}).",
        task(ours.labels),
        units::rate(peer.rate()),
        times(worth),
        way(ours.labels)
    );
    let evidence = against((name, &peer), (&format!("fullbore, {}", way(ours.labels)), &ours), &found);
    Some(Tip::new(
        format!("peer|{name}|{}", subject(ours.labels)),
        &found,
        &[peer, ours],
        worth,
        text,
        evidence,
    ))
}
