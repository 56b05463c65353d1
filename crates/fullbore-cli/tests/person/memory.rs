//! Memory: bounded for a file of any size, for every strategy that does not map it whole.

use crate::support::*;

/// The buffers' budget plus the program's own memory, in bytes.
const MOST: u64 = (64 + 16) << 20;

#[test]
#[cfg_attr(windows, ignore = "the peak under Wine includes the stacks of threads and its own libraries")]
fn a_gibibyte_takes_no_more_memory_than_the_budget() {
    let dir = large();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    // A hole reads as any file does.
    File::create(&input).unwrap().set_len(1 << 30).unwrap();
    fs::write(&output, "").unwrap();
    // Others map the whole file.
    let named = named().into_iter().filter(|name| !name.contains("mm"));
    let more = [
        "method=uncached",
        "method=uring,depth=128,request=1M",
        "method=vectored,depth=64",
        "method=mmap",
        "method=mmap,workers=8,model=pool,window=64M",
        "request=32M,workers=4",
        "workers=64,model=striped",
    ];
    for strategy in cases("memory of a gibibyte", 3, named.chain(more)) {
        let options = ["--json", "--strategy", strategy];
        // The output is discarded, so the file system's own memory does not matter.
        let ended = run(&mut transform("none", &input, NULL.as_ref(), &options));
        if refused(&ended) {
            continue;
        }
        within(&ended.succeeds().json(), strategy, 1 << 30);
    }
    drop(dir);
    let dir = TestDir::new();
    dir.run("gen 256M in").succeeds();
    for strategy in
        ["auto", "method=mmap,workers=4,model=pool", "method=direct", "method=uring,depth=64,cache=direct"]
    {
        let ended = dir.run(&format!("transform shift:1 in out --json --strategy {strategy}"));
        if refused(&ended) {
            continue;
        }
        within(&ended.succeeds().json(), strategy, 256 << 20);
    }
}

/// Each worker compares two stripes of a file with its copy, or two pieces.
#[test]
#[cfg_attr(windows, ignore = "the peak under Wine includes the stacks of threads and its own libraries")]
fn verified_trees_take_no_more_memory_than_the_budget() {
    let dir = TestDir::new();
    dir.directories(["tree"]);
    for number in 0..24 {
        dir.file(&format!("tree/{number}"), bytes(4 << 20, number));
    }
    for (words, copied) in [("", 96 << 20), (" --resume", 96 << 20), (" --resume", 0)] {
        let target = if words.is_empty() { "out" } else { "resumed" };
        let ended =
            dir.run(&format!("copy -rT --verify --workers 24 --json{words} tree {target}")).succeeds();
        let summary = ended.json();
        let peak = summary["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak <= MOST, "{words}: {} MiB at the peak", peak >> 20);
        assert_eq!(summary["copy"]["copied"], copied, "{words}: {summary}");
    }
    let peak = |words: &str| {
        let words = format!("copy -rT --resume --workers 24 --memory 8M --json{words} tree resumed");
        dir.run(&words).succeeds().json()["peak_memory_bytes"].as_u64().unwrap()
    };
    let (verified, plain) = (peak(" --verify"), peak(""));
    assert!(verified < plain + (24 << 20), "{verified} and {plain} bytes at the peak");
}

/// All workers copy a large file, each with two stripes; no other file is copied meanwhile.
#[test]
#[cfg_attr(windows, ignore = "the peak under Wine includes the stacks of threads and its own libraries")]
fn a_large_file_beside_small_ones_takes_no_more_memory_than_the_budget() {
    let dir = TestDir::new();
    dir.directories(["tree"]);
    dir.file("tree/large", bytes(96 << 20, 99));
    for number in 0..24 {
        dir.file(&format!("tree/{number}"), bytes(2 << 20, number));
    }
    let summary = dir.run("copy -rT --verify --workers 8 --json tree out").succeeds().json();
    let peak = summary["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak <= MOST, "{} MiB at the peak", peak >> 20);
    assert_eq!(summary["copy"]["copied"], 144 << 20, "{summary}");
}

/// Returns a directory in memory if there is enough: the disk does not matter here.
fn large() -> TestDir {
    #[cfg(target_os = "linux")]
    if let Ok(found) = rustix::fs::statvfs("/dev/shm")
        && found.f_bavail * found.f_frsize > 4 << 30
    {
        return TestDir::within("/dev/shm".as_ref());
    }
    TestDir::new()
}

fn within(account: &Value, about: &str, bytes: u64) {
    assert_eq!(account["bytes"], bytes, "{about}");
    let peak = account["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak > 1 << 20, "{about}: {peak} bytes cannot be true");
    assert!(peak <= MOST, "{about}: {} MiB at the peak", peak >> 20);
}

#[cfg(target_os = "linux")]
#[test]
fn tools_take_no_more_memory_than_the_budget() {
    const LEN: u64 = 160 << 20;
    let dir = large();
    dir.run(&format!("gen {LEN} in --content text")).succeeds();
    fs::copy(dir.at("in"), dir.at("other")).unwrap();
    for (line, bytes) in [
        ("$0 wc --json in", LEN),
        ("cat in | $0 wc --json", LEN),
        ("$0 sum --json in", LEN),
        ("cat in | $0 sum --json", LEN),
        ("$0 cmp --json in other", LEN),
        ("cat in | $0 cmp --json - other", LEN),
        // The ends of both files come first.
        ("$0 dedupe --bytes --json in other", 4 * LEN + (64 << 10)),
    ] {
        let text = dir.shell(line).succeeds().text();
        // The statistics are part of the only object, or of that in the last line.
        let last = |_| serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let object: Value = serde_json::from_str(&text).unwrap_or_else(last);
        within(object.get("run").unwrap_or(&object), line, bytes);
    }
    let mut running = start(dir.command("grep -c 0").stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut pipe = running.child.stdin.take().unwrap();
    std::io::copy(&mut File::open(dir.at("in")).unwrap(), &mut pipe).unwrap();
    // The statistics of grep are those of rg, without the memory.
    let status = fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    drop(pipe);
    running.end();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    let peak: u64 = peak.unwrap().trim().parse().unwrap();
    assert!((1 << 10..=MOST >> 10).contains(&peak), "grep: {peak} KiB at the peak");
}
