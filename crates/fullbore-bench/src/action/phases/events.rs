//! Block events in the format of the kernel's tracing, and the times of a file's sectors that follow from them:
//! entering the block layer, issue to the device, completion.
//!
//! An application's requests, bios and device requests do not correspond: large requests are split, adjacent ones
//! merged. They share sectors, so times are summed per sector: a request's time in a phase is the mean over its bytes.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    /// Monotonic time in seconds.
    pub(super) at: f64,
    pub(super) kind: EventKind,
    /// First sector on the disk, in units of 512 bytes.
    pub(super) sector: u64,
    pub(super) count: u64,
    pub(super) writes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A bio entered the block layer.
    Queued,
    /// A bio was merged into an adjacent request.
    Merged,
    /// A request was issued to the device.
    Issued,
    /// The device completed a request, or a part of it.
    Completed,
}

/// The traced events, by the kernel's name.
pub(super) const EVENTS: [(&str, EventKind); 5] = [
    ("block_bio_queue", EventKind::Queued),
    ("block_bio_backmerge", EventKind::Merged),
    ("block_bio_frontmerge", EventKind::Merged),
    ("block_rq_issue", EventKind::Issued),
    ("block_rq_complete", EventKind::Completed),
];

/// Parses a line such as `fio-77 [001] ..... 12.345678: block_rq_issue: 254,0 RS 4096 () 1234 + 8 be,0,4 [fio]`.
/// Returns `None` for comments, other events, and requests that are neither reads nor writes.
pub(super) fn parse(line: &str) -> Option<Event> {
    let (kind, head, fields) = EVENTS.iter().find_map(|(name, kind)| {
        let (head, rest) = line.split_once(": ")?;
        let fields = rest.strip_prefix(name)?.strip_prefix(": ")?;
        Some((*kind, head, fields))
    })?;
    let at = head.rsplit(' ').next()?.parse().ok()?;
    let (numbers, more) = fields.split_once(" + ")?;
    let mut numbers = numbers.split(' ');
    let (_device, rwbs) = (numbers.next()?, numbers.next()?);
    // A leading `F` is a flush that accompanies the request; `S`, `A`, `M` after the letter are flags.
    let writes = match rwbs.trim_start_matches('F').chars().next()? {
        'R' => false,
        'W' => true,
        _ => return None,
    };
    let sector = numbers.next_back()?.parse().ok()?;
    let count = more.split(' ').next()?.parse().ok()?;
    (count > 0).then_some(Event { at, kind, sector, count, writes })
}

/// Sums of the events of a set of sectors, in seconds over the completed sectors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TraceSums {
    /// Sectors with all events: queued, issued and completed.
    pub(super) sectors: u64,
    /// Sum of the times of queueing, since the origin.
    pub(super) queued: f64,
    /// Sum of the times of issue.
    pub(super) issued: f64,
    /// Sum of the times of completion.
    pub(super) completed: f64,
    pub(super) device_requests: u64,
    pub(super) merges: u64,
}

/// Sums the events of one direction on the sectors of `within` (sorted, disjoint). Times count from `origin`.
pub(super) fn sum_events(
    events: impl IntoIterator<Item = Event>,
    writes: bool,
    within: &[Range<u64>],
    origin: f64,
) -> TraceSums {
    let ours = |sector: u64| {
        let after = within.partition_point(|range| range.start <= sector);
        after > 0 && sector < within[after - 1].end
    };
    let mut sum = TraceSums::default();
    // By the first sector: the end and the time.
    let mut queued: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
    let mut issued: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.writes == writes && ours(event.sector)) {
        let (start, end) = (event.sector, event.sector + event.count);
        match event.kind {
            EventKind::Queued => {
                queued.insert(start, (end, event.at));
            }
            EventKind::Merged => sum.merges += 1,
            EventKind::Issued => {
                sum.device_requests += 1;
                issued.insert(start, (end, event.at));
            }
            EventKind::Completed => {
                let Some((_, &(issued_end, issued_at))) = issued.range(..=start).next_back() else {
                    continue;
                };
                // A merged request has several bios, a split bio several requests.
                let first = queued.range(..=start).next_back().map_or(start, |(first, _)| *first);
                for (&bio, &(bio_end, queued_at)) in queued.range(first..end.min(issued_end)) {
                    let overlap = end.min(bio_end).min(issued_end).saturating_sub(start.max(bio));
                    sum.sectors += overlap;
                    let sectors = overlap as f64;
                    sum.queued += sectors * (queued_at - origin);
                    sum.issued += sectors * (issued_at - origin);
                    sum.completed += sectors * (event.at - origin);
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_parsed() {
        let line = "              dd-14064   [000] ..... 37563.541614: block_rq_issue: 254,0 RS 1056768 () 223363072 + 2064 be,0,4 [dd]";
        let event = parse(line).unwrap();
        assert_eq!((event.at, event.kind), (37563.541614, EventKind::Issued));
        assert_eq!((event.sector, event.count, event.writes), (223_363_072, 2064, false));
        let line = " a: b + c-29952   [001] ..s1. 1.5: block_bio_queue: 7,1 FWFS 8 + 16 [a: b + c]";
        // A process name that looks like an event makes the line unparsable, not wrong.
        assert_eq!(parse(line), None);
        let line = " kworker/0:1H-58 [001] ..s1. 1.5: block_bio_queue: 7,1 FWFS 8 + 16 [x]";
        let event = parse(line).unwrap();
        assert_eq!((event.kind, event.sector, event.count, event.writes), (EventKind::Queued, 8, 16, true));
        for other in [
            "# tracer: nop",
            "",
            "dd-1 [000] ..... 1.5: block_split: 254,0 RS 223363072 / 223365136 [dd]",
            "dd-1 [000] ..... 1.5: block_rq_complete: 254,0 WS () 0 + 0 be,0,4 [0]",
            "dd-1 [000] ..... 1.5: block_bio_queue: 254,0 DS 306510640 + 8 [x]",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    fn event(at: f64, kind: EventKind, sector: u64, count: u64) -> Event {
        Event { at, kind, sector, count, writes: false }
    }

    /// Returns the mean times: the sums divided by the sectors.
    fn means(sum: &TraceSums) -> (f64, f64, f64) {
        let sectors = sum.sectors as f64;
        (sum.queued / sectors, sum.issued / sectors, sum.completed / sectors)
    }

    #[test]
    fn single_request_is_summed() {
        let events = [
            event(101.0, EventKind::Queued, 0, 8),
            event(102.0, EventKind::Issued, 0, 8),
            event(105.0, EventKind::Completed, 0, 8),
        ];
        let sum = sum_events(events, false, std::slice::from_ref(&(0..8)), 100.0);
        assert_eq!((sum.sectors, sum.device_requests, sum.merges), (8, 1, 0));
        assert_eq!(means(&sum), (1.0, 2.0, 5.0));
        assert_eq!(
            sum_events(events, true, std::slice::from_ref(&(0..8)), 100.0).sectors,
            0,
            "they were reads"
        );
    }

    #[test]
    fn split_request_is_summed_over_its_parts() {
        let events = [
            event(1.0, EventKind::Queued, 0, 16),
            event(2.0, EventKind::Issued, 0, 12),
            event(3.0, EventKind::Issued, 12, 4),
            event(4.0, EventKind::Completed, 12, 4),
            event(6.0, EventKind::Completed, 0, 12),
        ];
        let sum = sum_events(events, false, std::slice::from_ref(&(0..16)), 0.0);
        assert_eq!((sum.sectors, sum.device_requests), (16, 2));
        assert_eq!(means(&sum), (1.0, (12.0 * 2.0 + 4.0 * 3.0) / 16.0, (12.0 * 6.0 + 4.0 * 4.0) / 16.0));
    }

    #[test]
    fn merged_request_counts_for_each_bio_and_may_complete_in_parts() {
        let events = [
            event(1.0, EventKind::Queued, 0, 8),
            event(2.0, EventKind::Queued, 8, 8),
            event(2.0, EventKind::Merged, 8, 8),
            event(3.0, EventKind::Issued, 0, 16),
            event(4.0, EventKind::Completed, 0, 4),
            event(5.0, EventKind::Completed, 4, 12),
        ];
        let sum = sum_events(events, false, std::slice::from_ref(&(0..16)), 0.0);
        assert_eq!((sum.sectors, sum.device_requests, sum.merges), (16, 1, 1));
        assert_eq!(means(&sum), (1.5, 3.0, (4.0 * 4.0 + 5.0 * 12.0) / 16.0));
    }

    #[test]
    fn foreign_and_partly_traced_requests_do_not_count() {
        let events = [
            event(0.5, EventKind::Completed, 8, 8), // begun before
            event(1.0, EventKind::Queued, 100, 8),
            event(2.0, EventKind::Issued, 100, 8),
            event(3.0, EventKind::Completed, 100, 8),
            event(4.0, EventKind::Queued, 0, 8), // never ended
        ];
        let sum = sum_events(events, false, &[0..16, 200..300], 0.0);
        assert_eq!((sum.sectors, sum.device_requests), (0, 0));
    }
}
