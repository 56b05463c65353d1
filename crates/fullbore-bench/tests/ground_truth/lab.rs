//! A laboratory: disks of known limits and the meter on them, in a process of its own. Here a control group limits the
//! bytes and requests per second of the disks, and the meter runs in that group.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fullbore::pattern::Progress;
use fullbore_bench::document::Document;
use fullbore_bench::experiment::QUICK;
use fullbore_bench::{Event, Options, RunProgress, run};
use fullbore_testkit::processes::alone;

use super::disk::{CleanupProcess, Disk, DiskImage, EXT4, eventually};

/// Bytes and requests per second, for reads and for writes.
pub(crate) type Limits = (u64, u64);

/// Limits from this value up count as none.
pub(crate) const UNLIMITED: u64 = 1 << 30;

/// Names the directory with the experiments and the task of a process that measures.
const TASK: &str = "FULLBORE_GROUND_TRUTH";

/// The resource shared by all disks of a laboratory.
#[derive(Clone, Copy)]
pub(crate) enum Shared {
    Nothing,
    /// Their images are on one disk, itself limited.
    Bus(Limits),
    /// They are directories of one disk.
    Disk,
}

/// Limited disks. Dropped in the order of the fields: disks, the disk below, the group, the directory.
pub(crate) struct Lab {
    disks: Vec<Disk>,
    bus: Option<Disk>,
    group: Group,
    meter: Meter,
}

/// The meter: its directories and limits.
pub(crate) struct Meter {
    pub(crate) directories: Vec<PathBuf>,
    limited_by: PathBuf,
    file: u64,
    root: tempfile::TempDir,
}

impl AsRef<Meter> for Lab {
    fn as_ref(&self) -> &Meter {
        &self.meter
    }
}

/// A control group; removed when dropped.
struct Group {
    place: PathBuf,
    _heir: CleanupProcess,
}

impl Group {
    fn new() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let blkio = Path::new("/sys/fs/cgroup/blkio");
        if !blkio.join("blkio.throttle.read_bps_device").exists() {
            return Err("no blkio throttle of control groups v1".into());
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let group = blkio.join(format!("fullbore-{}-{number}", std::process::id()));
        // A meter left in the group would continue and use resources.
        let script = "for try in $(seq 100); do kill -9 $(cat \"$1/cgroup.procs\"); rmdir \"$1\" && break; sleep 0.1; done";
        let heir = CleanupProcess::of(script, &[&group.to_string_lossy()])?;
        fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        Ok(Self { place: group, _heir: heir })
    }

    fn limit(&self, number: &str, (bps, iops): Limits) -> Result<(), String> {
        for (file, limit) in
            [("read_bps", bps), ("write_bps", bps), ("read_iops", iops), ("write_iops", iops)]
        {
            if limit >= UNLIMITED {
                continue;
            }
            let path = self.place.join(format!("blkio.throttle.{file}_device"));
            fs::write(&path, format!("{number} {limit}")).map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        eventually(|| fs::remove_dir(&self.place).is_ok());
    }
}

/// A run of the meter, by the name of its test.
#[derive(Clone, Copy)]
pub(crate) struct MeterOptions {
    pub(crate) test: &'static str,
    pub(crate) seconds: u64,
    pub(crate) precision: f64,
}

impl Lab {
    /// Makes a disk for each of `limits`, to be measured with files of `file` bytes.
    pub(crate) fn new(limits: &[Limits], shared: Shared, file: u64) -> Result<Self, String> {
        let group = Group::new()?;
        let mut meter = Meter::new(file)?;
        meter.limited_by(group.place.join("cgroup.procs"));
        let mut lab = Self { disks: Vec::new(), bus: None, group, meter };
        let here = lab.meter.root().to_owned();
        let count = limits.len() as u64;
        // Space for the file system itself, and for the tenth that the meter leaves free.
        let len = (128 << 20) + if matches!(shared, Shared::Disk) { count * file } else { file } * 5 / 4;
        let plain = DiskImage { len, mkfs: EXT4, options: "", past_cache: false };
        let mut within = here.clone();
        if let Shared::Bus(limits) = shared {
            let len = (128 << 20) + len * count;
            let bus = Disk::new(&here, "bus", here.join("bus"), &DiskImage { len, ..plain })?;
            lab.group.limit(bus.number(), limits)?;
            within = bus.place.clone();
            lab.bus = Some(bus);
        }
        let disks = if matches!(shared, Shared::Disk) { &limits[..1] } else { limits };
        for (index, &limits) in disks.iter().enumerate() {
            let name = index.to_string();
            // Each read of a disk on a bus must go over the bus.
            let made = DiskImage { past_cache: lab.bus.is_some(), ..plain };
            let disk = Disk::new(&within, &name, here.join(&name), &made)?;
            lab.group.limit(disk.number(), limits)?;
            lab.meter.directories.push(disk.place.clone());
            lab.disks.push(disk);
        }
        if matches!(shared, Shared::Disk) {
            let place = lab.meter.directories.remove(0);
            for index in 0..limits.len() {
                let directory = place.join(format!("directory-{index}"));
                fs::create_dir(&directory).map_err(|error| error.to_string())?;
                lab.meter.directories.push(directory);
            }
        }
        Ok(lab)
    }

    /// Has the meter make files of another length, of which the disks hold several.
    pub(crate) fn with_files_of(mut self, len: u64) -> Self {
        self.meter.file = len;
        self
    }

    pub(crate) fn limit(&self, disk: usize, limits: Limits) {
        self.group.limit(self.disks[disk].number(), limits).unwrap();
    }
}

impl Meter {
    /// A meter for files of `file` bytes, on disks to be added.
    pub(crate) fn new(file: u64) -> Result<Self, String> {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
        Ok(Self { directories: Vec::new(), limited_by: PathBuf::new(), file, root })
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Sets the file to which the meter writes its process id to be limited; its test files are created before.
    pub(crate) fn limited_by(&mut self, file: PathBuf) {
        self.limited_by = file;
    }

    /// Starts the meter on the disks; it puts itself under their limits.
    pub(crate) fn start(&self, task: MeterOptions, experiments: &str) -> Child {
        // Lifts the limits of an earlier attempt on disks of known latency.
        let _ = fs::remove_file(self.root.path().join("go"));
        let MeterOptions { seconds, precision, .. } = task;
        let parameters = (&self.directories, &self.limited_by, self.file, seconds, precision, experiments);
        let written = serde_json::to_string(&parameters).unwrap();
        fs::write(self.root.path().join("task.json"), written).unwrap();
        // The blocks of an earlier attempt's files become free once their data is on the disk.
        let empty = |directory: &PathBuf| {
            let room = rustix::fs::statvfs(directory).unwrap();
            room.f_bfree > room.f_blocks / 4 * 3
        };
        eventually(|| self.directories.iter().all(empty));
        alone(task.test)
            .env(TASK, self.root.path())
            // This build cuts transfers short at random: the device would count the pieces.
            .env("FULLBORE_NO_CUTS", "1")
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub(crate) fn finish(&self, mut child: Child) -> Document {
        assert!(child.wait().unwrap().success());
        Document::read(fs::File::open(self.root.path().join("results.json")).unwrap()).unwrap()
    }
}

/// Measures, in the process that [`Meter::start`] started; true if this is that process.
pub(crate) fn measures_here() -> bool {
    let Some(root) = std::env::var_os(TASK).map(PathBuf::from) else { return false };
    let task = fs::read_to_string(root.join("task.json")).unwrap();
    let (directories, limited_by, file, seconds, precision, experiments) =
        serde_json::from_str::<(Vec<PathBuf>, PathBuf, u64, u64, f64, String)>(&task).unwrap();
    let options = Options {
        directories,
        size: Some(file),
        time: Duration::from_secs(seconds),
        precision,
        may_leave_out: experiments == QUICK,
        sets: vec![("lab".into(), experiments)],
        ..Options::default()
    };
    let mut limited = false;
    let under_limits = |event: Event<'_>| {
        // The files are created without limits, which the system would apply to their flushing.
        if let Event::Progress(RunProgress { now: "measuring the meter itself", .. }) = event {
            fs::write(&limited_by, std::process::id().to_string()).unwrap();
            limited = true;
        }
    };
    let measured = run(&options, &Progress::default(), under_limits).unwrap();
    assert!(limited);
    measured.document.write(&mut fs::File::create(root.join("results.json")).unwrap()).unwrap();
    true
}
