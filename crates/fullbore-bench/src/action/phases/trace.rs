//! The kernel's tracing of block requests, in an instance invisible to its other users and removed afterwards; the times of
//! a file's sectors that follow from the events: entering the block layer, issue to the device, completion.
//!
//! An application's requests, bios and device requests do not correspond: large requests are split, adjacent ones
//! merged. They share sectors, so times are summed per sector: a request's time in a phase is the mean over its bytes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fullbore::error::Error;
use fullbore::file::Temporary;
use fullbore::probe::DeviceNumber;
use fullbore::sys::{self, Handle};

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

/// Memory for events, in KiB for all processors together.
const ROOM: usize = 32 << 10;

/// Prefix of this program's instances; the process id follows.
const NAME: &str = "fullbore-";

/// A trace, active while requests run. Removed when dropped.
#[derive(Debug)]
pub(super) struct Trace {
    // Removed before its mount is closed.
    instance: Temporary,
    _mount: Option<Handle>,
}

impl Trace {
    /// Prepares a trace of these devices. The error is a reason for a human reader, the same for every trace: it is a part of
    /// a label.
    pub(super) fn of(devices: &[DeviceNumber]) -> Result<Self, String> {
        let (root, mount) = root()?;
        Self::within(&root, mount, devices)
    }

    /// Prepares a trace in the tracing file system at `root`.
    fn within(root: &Path, mount: Option<Handle>, devices: &[DeviceNumber]) -> Result<Self, String> {
        remove_stale_instances(root);
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = root.join("instances").join(format!("{NAME}{}-{count}", std::process::id()));
        let (instance, ()) = Temporary::make(path.clone(), |path| {
            fs::create_dir(path).map_err(|error| Error::io("make a trace", path, error))
        })
        .map_err(|error| error.without_path().to_string())?;
        let trace = Self { instance, _mount: mount };
        trace.set("tracing_on", "0")?;
        // The clock of `Instant` and `clock_gettime(CLOCK_MONOTONIC)`.
        trace.set("trace_clock", "mono")?;
        let processors = fullbore::probe::machine().logical_processors.unwrap_or(64).max(1) as usize;
        trace.set("buffer_size_kb", &(ROOM / processors).max(64).to_string())?;
        // The kernel's internal device number (`major << 20 | minor`), which differs from that of user space.
        let one = |device: &DeviceNumber| format!("dev == {}", device.major << 20 | device.minor);
        let filter = devices.iter().map(one).collect::<Vec<_>>().join(" || ");
        for (event, _) in EVENTS {
            trace.set(&format!("events/block/{event}/filter"), &filter)?;
            trace.set(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(trace)
    }

    /// Discards traced events and starts tracing.
    pub(super) fn begin(&self) -> Result<(), String> {
        self.set("trace", "")?;
        self.set("tracing_on", "1")
    }

    /// Stops tracing and returns the traced events in the order of time.
    pub(super) fn end(&self) -> Result<Vec<Event>, String> {
        self.set("tracing_on", "0")?;
        let text = |file: &str| {
            fs::read(self.instance.path().join(file))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|error| format!("cannot read {file}: {error}"))
        };
        let events = text("trace")?;
        // `entries-in-buffer/entries-written: 280/300`: the oldest entries were overwritten.
        let counts =
            events.lines().find_map(|line| line.strip_prefix("# entries-in-buffer/entries-written: "));
        let kept = counts.and_then(|counts| counts.split_whitespace().next()?.split_once('/'));
        match kept {
            Some((kept, written)) if kept == written => Ok(events.lines().filter_map(parse).collect()),
            Some((kept, written)) => Err(format!("the trace kept {kept} events of {written}")),
            None => Err("the trace does not report the number of kept events".to_owned()),
        }
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        fs::write(self.instance.path().join(file), value)
            .map_err(|error| format!("cannot set {file}: {error}"))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // An instance with active events can be removed, too; turning it off saves other processes the cost until then.
        let _ = self.set("tracing_on", "0");
    }
}

/// Returns the tracing file system: its mount point, or a detached mount of our own that ends with its descriptor.
fn root() -> Result<(PathBuf, Option<Handle>), String> {
    for place in ["kernel/tracing", "kernel/debug/tracing"] {
        let place = Path::new(sys::SYS).join(place);
        if place.join("instances").exists() {
            return Ok((place, None));
        }
    }
    let mount = sys::mount_trace_files().map_err(|error| format!("tracefs cannot be mounted: {error}"))?;
    let place = sys::handle_path(&mount);
    if !place.join("instances").exists() {
        return Err("the tracing file system has no instances".to_owned());
    }
    Ok((place, Some(mount)))
}

fn remove_stale_instances(root: &Path) {
    for entry in fs::read_dir(root.join("instances")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(sys::PROC).join(process.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::{build_directory, write_file};
    use fullbore_testkit::or_skip;

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

    /// Messages leave out the name of the trace, which contains the numbers of the process and of the trace.
    #[test]
    fn reasons_are_the_same_for_every_trace() {
        let reasons = |has_instances: bool| {
            [(); 2].map(|()| {
                let root = tempfile::tempdir().unwrap();
                if has_instances {
                    fs::create_dir(root.path().join("instances")).unwrap();
                }
                Trace::within(root.path(), None, &[]).unwrap_err()
            })
        };
        let [first, second] = reasons(false);
        assert!(first == second && first.starts_with("cannot "), "{first} {second}");
        // Without the directories of the events.
        let [first, second] = reasons(true);
        assert!(first == second && first.starts_with("cannot set events/block/"), "{first} {second}");
    }

    /// Needs root and a kernel with block tracing.
    #[test]
    fn direct_read_is_traced_and_instance_removed() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let path = write_file(&directory, "file", vec![7; 1 << 20]);
        let file = fullbore::file::File::open(&path).unwrap();
        file.sync_all().unwrap();
        let devices: Vec<_> =
            fullbore::probe::facts(&path).unwrap().devices.iter().map(|device| device.number).collect();
        if devices.is_empty() {
            return println!("skipped: there is no device under {}", path.display());
        }
        let Some(trace) = or_skip("block tracing", Trace::of(&devices)) else { return };
        let instance = trace.instance.path().to_owned();
        trace.begin().unwrap();
        let strategy = "method=direct,request=64K".parse::<fullbore::strategy::StrategySpec>().unwrap();
        let strategy = strategy.apply(fullbore::strategy::Strategy::plain());
        let scope = fullbore::pattern::Scope::whole(1 << 20);
        let progress = fullbore::pattern::Progress::default();
        fullbore::pattern::visit(&file, &scope, &strategy, &progress, &false.into(), || (), |(), _, _| ())
            .unwrap();
        let events = trace.end().unwrap();
        let sectors = |what| {
            events
                .iter()
                .filter(|event| event.kind == what && !event.writes)
                .map(|event| event.count)
                .sum::<u64>()
        };
        assert!(sectors(EventKind::Queued) >= 2048 && sectors(EventKind::Issued) >= 2048, "{events:?}");
        assert!(sectors(EventKind::Completed) >= 2048);
        assert!(events.is_sorted_by(|one, other| one.at <= other.at));
        trace.begin().unwrap();
        assert!(trace.end().unwrap().len() < events.len(), "earlier events are discarded");
        let (root, _mount) = root().unwrap();
        let ours = root.join("instances").join(instance.file_name().unwrap());
        assert!(ours.exists());
        drop(trace);
        assert!(!ours.exists());
    }
}
