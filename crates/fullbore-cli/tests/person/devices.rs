//! Block devices: read like files, written only if named explicitly.

use crate::bench::{TWO_CELLS, measure_until};
use crate::support::*;
use fullbore_testkit::mounts::LoopDevice;

fn block_device(image: &Path) -> Result<LoopDevice, String> {
    LoopDevice::new(image, "--direct-io=off")
}

#[test]
fn a_block_device_is_read_whole_and_written_only_on_demand() {
    const LENGTH: usize = 4 << 20;
    let dir = TestDir::new();
    let data = bytes(LENGTH, 1);
    let Some(disk) = or_skip("a block device", block_device(&dir.file("image", &data))) else { return };
    let device = disk.path();
    for strategy in ["auto", "cci", "cci-mm", "cci-ex", "cci-stdio", "method=direct", "method=aio"] {
        let options = ["--strategy", strategy];
        run(&mut transform("upper", device, &dir.at("out"), &options)).succeeds();
        assert!(dir.read("out") == data.to_ascii_uppercase(), "{strategy}");
    }
    let input = dir.file("in", bytes(1_000_001, 2));
    run(&mut transform("none", &input, device, &[])).fails(2, &["block device", "--overwrite"]);
    assert!(fs::read(device).unwrap() == data);
    for strategy in ["auto", "cci-mm", "cci-ex", "method=direct", "method=mmap"] {
        let mut wanted = fs::read(device).unwrap();
        wanted[..1_000_001].copy_from_slice(&fs::read(&input).unwrap());
        let options = ["--overwrite", "--strategy", strategy, "--sync", "data"];
        run(&mut transform("none", &input, device, &options)).succeeds();
        assert!(fs::read(device).unwrap() == wanted, "{strategy}");
        run(fullbore(["transform", "shift:1", "--in-place", "--strategy", strategy]).arg(device)).succeeds();
        let shifted: Vec<u8> = wanted.iter().map(|byte| byte.wrapping_add(1)).collect();
        assert!(fs::read(device).unwrap() == shifted, "{strategy} in place");
    }
    let large = dir.file("large", bytes(LENGTH + 4096, 3));
    for strategy in ["auto", "cci", "cci-mm", "cci-ex", "method=direct"] {
        let ended = run(&mut transform("none", &large, device, &["--overwrite", "--strategy", strategy]));
        ended.fails(2, &["No space left on device"]);
    }
}

/// Creates a node of a device, which a wrong copy may remove, and opens it.
fn make_node(path: &Path, kind: &str, number: u64) -> Result<fs::File, String> {
    let [major, minor] = [rustix::fs::major(number), rustix::fs::minor(number)].map(|part| part.to_string());
    let words = [path.as_os_str(), kind.as_ref(), major.as_ref(), minor.as_ref()];
    fullbore_testkit::mounts::command("mknod", words)?;
    fs::File::open(path).map_err(|error| error.to_string())
}

#[test]
fn a_character_device_is_not_copied_onto_itself() {
    let dir = TestDir::new();
    let (node, number) = (dir.at("null"), fs::metadata("/dev/null").unwrap().rdev());
    let Some(_open) = or_skip("a node of a device", make_node(&node, "c", number)) else { return };
    dir.set_mode("null", 0o666);
    for flags in ["-r", "--remove-destination", "-b", "-sf"] {
        dir.run(&format!("copy {flags} null null")).fails(1, &["are the same file"]);
        let now = fs::symlink_metadata(&node).unwrap();
        assert_eq!((now.rdev(), now.mode() & 0o777), (number, 0o666), "{flags}");
    }
    dir.run("copy null null").succeeds();
}

#[test]
fn a_forced_copy_does_not_replace_a_block_device() {
    let dir = TestDir::new();
    let Some(disk) = or_skip("a block device", block_device(&dir.file("image", bytes(1 << 20, 1)))) else {
        return;
    };
    let number = fs::metadata(disk.path()).unwrap().rdev();
    let node = dir.at("node");
    let Some(_open) = or_skip("a node of a device", make_node(&node, "b", number)) else { return };
    dir.file("in", "in");
    dir.run("copy -f in node").fails(1, &["node", "block device"]);
    assert_eq!(fs::metadata(&node).unwrap().rdev(), number);
    dir.run("copy -f --resume in node").fails(1, &["node", "block device"]);
    assert_eq!(fs::metadata(&node).unwrap().rdev(), number);
}

#[test]
fn block_device_needs_serial_and_no_data() {
    let dir = TestDir::new();
    let image = dir.file("image", "");
    fs::File::options().write(true).open(&image).unwrap().set_len(64 << 20).unwrap();
    let Some(device) = or_skip("a block device", block_device(&image)) else { return };
    let name = device.path().display().to_string();
    let serial = image.canonicalize().unwrap().display().to_string();
    let measure = |serial: &str, seconds: u32| {
        format!(
            "bench run own.toml --time {seconds} --output results --precision 50 --device {name} --serial {serial}"
        )
    };
    dir.file("own.toml", TWO_CELLS.replace("method=buffered", "method=direct").replace("cache = 'warm'", ""));
    dir.run(&format!("bench run roof --device {name}")).fails(2, &["--serial"]);
    dir.run(&measure("another", 10)).fails(2, &[&name, "another", "serial number"]);
    let made = Command::new("mkfs.ext4").args(["-q", &name]).status();
    if made.is_ok_and(|made| made.success()) {
        dir.run(&measure(&serial, 10)).fails(2, &["ext4", "wipefs"]);
        let wiped = Command::new("dd")
            .args(["if=/dev/zero", "bs=1M", "count=1", "status=none"])
            .arg(format!("of={name}"))
            .status();
        assert!(wiped.unwrap().success());
    }
    if !fullbore_testkit::runs_all("the measurement of a block device") {
        return;
    }
    let (_, document) = measure_until(
        &dir,
        "results",
        &[10, 30, 90],
        |seconds| measure(&serial, seconds),
        |document| document.cells.iter().all(|cell| cell.summary.is_some()),
    );
    assert!(document.run.notes.iter().any(|note| note.contains("block device")), "{:?}", document.run.notes);
    assert_eq!(document.run.file_bytes, 64 << 20);
    let reads = document.cells.iter().filter(|cell| cell.labels.method == "direct");
    assert_eq!(reads.count(), 2, "{document:?}");
    assert!(!dir.at("config").exists(), "a device has no profile");

    let words = format!("{} --precision 0.001", measure(&serial, 60).replace("--precision 50", ""));
    let mut running = start(&mut dir.command(&words.replace("--output results", "--output stopped")));
    assert_eventually("results", true, || dir.at("stopped/results.json").exists());
    running.stop(true);
    let ended = running.end();
    assert!(ended.stderr.contains("so far are in stopped") && !ended.stderr.contains("--resume"), "{ended}");
}
