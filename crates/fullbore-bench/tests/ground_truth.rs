//! The meter against devices whose limits are known: loop disks that the kernel's block throttle holds to so many
//! bytes and so many requests a second. A request of `r` bytes then gives `min(iops · r, bps)`, and the half-power
//! request is the smallest power of two not under `bps / (2 · iops)`.
//!
//! Needs root, loop devices and the blkio throttle of control groups v1; skipped with the reason where one is
//! missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fullbore::pattern::Monitor;
use fullbore_bench::document::Document;
use fullbore_bench::{Options, run};

/// Bytes and requests a second: half-power requests of 16K, 8K, 64K and 8K.
const LIMITS: [(u64, u64); 4] =
    [(24_000_000, 1000), (12_000_000, 1000), (32_000_000, 300), (20_000_000, 2000)];

/// How far a rate may lie from the truth.
const TOLERANCE: f64 = 0.03;

/// The half-power request of a device, in bytes.
fn half_power((bps, iops): (u64, u64)) -> u64 {
    bps.div_ceil(2 * iops).next_power_of_two()
}

/// What is measured: sizes on both sides of the half-power request, eight in flight, so that the device and not the
/// loop's latency decides. The throttle deals in tenths of a second: samples are long beside that.
fn experiment(half: u64) -> String {
    format!(
        "
        [[experiment]]
        name = 'read'
        title = 'Direct reads by request size'
        axis = 'request'
        [[experiment.grid]]
        action = 'read'
        strategy = ['method=uring,cache=direct,depth=8,workers=1,model=serial']
        request = ['{}', '{}', '{}', '{}']
        ramp_seconds = 0.4
        sample_seconds = 3.0
        ",
        half / 2,
        half,
        4 * half,
        16 * half
    )
}

/// How often a disk may be measured before it counts as measured wrongly: the machine may have other work, which the
/// limits know nothing of.
const ATTEMPTS: u32 = 3;

/// Set where the test runs itself again, under the limits.
const DIRECTORY: &str = "FULLBORE_GROUND_TRUTH";

/// Its half-power request.
const HALF: &str = "FULLBORE_GROUND_TRUTH_HALF";

/// A loop disk, removed when dropped.
struct Disk {
    place: PathBuf,
    device: String,
    group: PathBuf,
}

fn command(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

impl Disk {
    fn new(root: &Path, index: usize, (bps, iops): (u64, u64)) -> Result<Self, String> {
        let blkio = Path::new("/sys/fs/cgroup/blkio");
        if !blkio.join("blkio.throttle.read_bps_device").exists() {
            return Err("no blkio throttle of control groups v1".into());
        }
        let place = root.join(index.to_string());
        let image = root.join(format!("{index}.img"));
        fs::create_dir(&place).map_err(|error| error.to_string())?;
        fs::File::create(&image)
            .and_then(|file| file.set_len(512 << 20))
            .map_err(|error| error.to_string())?;
        let device = command("losetup", &["-f", "--show", &image.to_string_lossy()])?;
        let group = blkio.join(format!("fullbore-{}-{index}", std::process::id()));
        let disk = Self { place, device, group };
        command("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &disk.device])?;
        command("mount", &[&disk.device, &disk.place.to_string_lossy()])?;
        fs::create_dir(&disk.group).map_err(|error| error.to_string())?;
        let name = disk.device.trim_start_matches("/dev/");
        let number =
            fs::read_to_string(format!("/sys/block/{name}/dev")).map_err(|error| error.to_string())?;
        for (file, limit) in
            [("read_bps", bps), ("write_bps", bps), ("read_iops", iops), ("write_iops", iops)]
        {
            let path = disk.group.join(format!("blkio.throttle.{file}_device"));
            fs::write(path, format!("{} {limit}", number.trim())).map_err(|error| error.to_string())?;
        }
        Ok(disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        // Busy for a moment while what ran there is cleared away.
        if !eventually(|| command("umount", &[&place]).is_ok()) {
            let _ = command("umount", &["--lazy", &place]);
        }
        let _ = command("losetup", &["-d", &self.device]);
        eventually(|| fs::remove_dir(&self.group).is_ok());
    }
}

/// Tries for two seconds.
fn eventually(mut done: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| {
        let done = done();
        if !done {
            std::thread::sleep(Duration::from_millis(100));
        }
        done
    })
}

/// Measures, in the process that the limits hold.
fn measure(directory: &Path) {
    let options = Options {
        directories: vec![directory.to_owned()],
        device: None,
        size: Some(64 << 20),
        time: Duration::from_secs(110),
        precision: 0.025,
        seed: 1,
        sets: vec![("lab".into(), experiment(std::env::var(HALF).unwrap().parse().unwrap()))],
        command: Vec::new(),
        resume: None,
        with_fio: false,
        program: None,
    };
    let measured = run(&options, &Monitor::default(), |_| ()).unwrap();
    let file = fs::File::create(directory.join("results.json")).unwrap();
    measured.document.write(file).unwrap();
}

#[test]
fn rates_and_half_power_points_are_those_of_the_device() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return measure(Path::new(&directory));
    }
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut disks = Vec::new();
    for (index, limits) in LIMITS.into_iter().enumerate() {
        match Disk::new(root.path(), index, limits) {
            Ok(disk) => disks.push((disk, limits)),
            Err(reason) => return println!("skipped: disks of known limits: {reason}"),
        }
    }
    let mut wrong = disks.iter().collect::<Vec<_>>();
    for attempt in 1..=ATTEMPTS {
        let found = measure_all(&wrong);
        wrong = wrong
            .into_iter()
            .zip(found)
            .filter(|(_, found)| !found.is_empty())
            .map(|(disk, found)| {
                println!("attempt {attempt}: {} B/s, {} requests/s: {found:?}", disk.1.0, disk.1.1);
                disk
            })
            .collect();
        if wrong.is_empty() {
            return;
        }
    }
    panic!("{} of {} disks were measured wrongly, {ATTEMPTS} times", wrong.len(), disks.len());
}

/// Measures disks all at once, as they wait more than they work, and says of each what was found wrong.
fn measure_all(disks: &[&(Disk, (u64, u64))]) -> Vec<Vec<String>> {
    let children: Vec<_> = disks
        .iter()
        .map(|(disk, limits)| {
            let this = std::env::current_exe().unwrap();
            let script = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", disk.group.display());
            Command::new("sh")
                .args(["-c", &script, "sh"])
                .arg(this)
                .args(["--nocapture", "--exact", "rates_and_half_power_points_are_those_of_the_device"])
                .env(DIRECTORY, &disk.place)
                // This build cuts transfers short at random: the device would count the pieces.
                .env("FULLBORE_NO_CUTS", "1")
                .env(HALF, half_power(*limits).to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    disks.iter().map(|(disk, limits)| wrong_of(disk, *limits)).collect()
}

/// What a disk's document says that is not so.
fn wrong_of(disk: &Disk, (bps, iops): (u64, u64)) -> Vec<String> {
    let document = Document::read(fs::File::open(disk.place.join("results.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for cell in &document.cells {
        let request = cell.labels.request_bytes.unwrap();
        let truth = (iops * request).min(bps) as f64;
        let rate =
            cell.summary.as_ref().unwrap_or_else(|| panic!("{}: {:?}", cell.id, cell.skipped)).rate.value;
        println!("{bps} B/s, {iops}/s, {request}: {:.4} of the truth", rate / truth);
        if (rate / truth - 1.0).abs() > TOLERANCE {
            wrong.push(format!("{request}: {:.3} of the truth", rate / truth));
        }
    }
    let found = document.findings.half_power_request[0].half_power.at;
    if found != half_power((bps, iops)) {
        wrong.push(format!("half-power request {found}, not {}", half_power((bps, iops))));
    }
    wrong
}
