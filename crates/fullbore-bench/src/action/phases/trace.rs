//! The kernel's tracing of block requests, in an instance invisible to its other users and removed afterwards.

use std::path::{Path, PathBuf};
use std::{fs, io};

use fullbore::error::Error;
use fullbore::file::Temporary;
use fullbore::probe::DeviceNumber;
use fullbore::sys::{self, Handle};

use super::events::{EVENTS, Event, parse};

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
    /// Prepares a trace of these devices. The error is a reason for a human reader.
    pub(super) fn of(devices: &[DeviceNumber]) -> Result<Self, String> {
        let (root, mount) = root()?;
        remove_stale_instances(&root);
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = root.join("instances").join(format!("{NAME}{}-{count}", std::process::id()));
        let (instance, ()) = Temporary::make(path.clone(), |path| {
            fs::create_dir(path).map_err(|error| Error::io("make a trace in", path, error))
        })
        .map_err(|error| error.to_string())?;
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
            let path = self.instance.path().join(file);
            fs::read(&path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|error| refused(&path, &error))
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
        let path = self.instance.path().join(file);
        fs::write(&path, value).map_err(|error| refused(&path, &error))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // An instance with active events can be removed, too; turning it off saves other processes the cost until then.
        let _ = self.set("tracing_on", "0");
    }
}

fn refused(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Returns the tracing file system: its mount point, or an own detached mount that ends with its descriptor.
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

/// Removes instances of killed processes.
fn remove_stale_instances(root: &Path) {
    for entry in fs::read_dir(root.join("instances")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(sys::PROC).join(process.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::events::EventKind;
    use super::*;

    /// Needs root and a kernel with block tracing.
    #[test]
    fn direct_read_is_traced_and_instance_removed() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("file");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        let file = fullbore::file::File::open(&path).unwrap();
        file.sync_all().unwrap();
        let devices: Vec<_> =
            fullbore::probe::facts(&path).unwrap().devices.iter().map(|device| device.number).collect();
        if devices.is_empty() {
            return println!("skipped: there is no device under {}", path.display());
        }
        let trace = match Trace::of(&devices) {
            Ok(trace) => trace,
            Err(reason) => return println!("skipped: block tracing: {reason}"),
        };
        let instance = trace.instance.path().to_owned();
        trace.begin().unwrap();
        let strategy = "method=direct,request=64K".parse::<fullbore::strategy::StrategySpec>().unwrap();
        let strategy = strategy.apply(fullbore::strategy::Strategy::plain());
        let scope = fullbore::pattern::Scope::whole(1 << 20);
        let progress = fullbore::pattern::Progress::default();
        fullbore::pattern::visit(&file, &scope, &strategy, &progress, || (), |(), _, _| ()).unwrap();
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
