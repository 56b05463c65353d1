//! fio and the meter agree: fio accepts exported jobs, imported job files describe the same load, and both measure the
//! same cells.

mod measuring;

use std::path::Path;
use std::process::Command;

use fullbore_bench::Options;
use fullbore_bench::document::{CacheState, Cell, Document, Labels, Proof};
use fullbore_bench::fio::{JobSource, Target, export, import, job};
use fullbore_testkit::or_skip;
use measuring::{document, experiment, on_disk, options, was_measured};

/// The version of fio; `None`, with the reason printed, if it is not installed.
fn fio() -> Option<String> {
    let said = or_skip("fio", Command::new("fio").arg("--version").output())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// Cells of every kind that has a counterpart in fio.
fn loads() -> Vec<Labels> {
    let read = |method: &str, cache_policy: &str, cache: Option<CacheState>| Labels {
        request_bytes: Some(64 << 10),
        depth: Some(1),
        workers: Some(1),
        model: Some("serial".into()),
        cache_policy: Some(cache_policy.into()),
        cache,
        order: Some("sequential".into()),
        ..Labels::of("read", method)
    };
    let uring = |depth| Labels { depth: Some(depth), ..read("uring", "direct", None) };
    let random = |labels: Labels, order: &str| Labels { order: Some(order.into()), ..labels };
    let write = |labels: Labels, state: &str| Labels {
        operation: "write".into(),
        file_state: Some(state.into()),
        cache: None,
        ..labels
    };
    let warm = Some(CacheState::Warm);
    vec![
        read("buffered", "keep", warm),
        read("buffered", "keep", Some(CacheState::Cold)),
        read("direct", "direct", None),
        read("mmap", "keep", warm),
        uring(8),
        Labels { depth: Some(16), ..read("aio", "direct", None) },
        Labels { depth: Some(4), ..read("posixaio", "direct", None) },
        Labels { depth: Some(4), ..write(read("posixaio", "keep", None), "overwritten") },
        Labels { depth: Some(4), ..read("uring", "keep", warm) },
        Labels { request_bytes: Some(1 << 20), ..uring(8) },
        random(uring(32), "random"),
        random(uring(32), "random over half"),
        Labels { workers: Some(3), model: Some("pool".into()), ..random(uring(4), "random") },
        Labels {
            workers: Some(2),
            model: Some("striped".into()),
            strategy: Some("method=buffered,request=64K,workers=2,model=striped,stripe=1M".into()),
            ..read("buffered", "keep", warm)
        },
        Labels { offset_bytes: Some(512), ..read("direct", "direct", None) },
        write(read("buffered", "keep", None), "overwritten"),
        write(read("buffered", "keep", None), "extended"),
        write(read("direct", "direct", None), "preallocated"),
        write(read("through", "keep", None), "overwritten"),
        write(read("through", "direct", None), "preallocated"),
        write(random(uring(8), "random"), "overwritten"),
        Labels { flush: Some(true), ..write(read("buffered", "keep", None), "extended") },
    ]
}

fn target(directory: &Path) -> Target<'_> {
    Target { name: "load", file: directory, size: 64 << 20, seconds: 1 }
}

#[test]
fn fio_accepts_and_runs_every_job() {
    if !fullbore_testkit::runs_all("every exported job in fio") || fio().is_none() {
        return;
    }
    let directory = on_disk();
    for labels in loads() {
        let text = job(&labels, &target(&directory.path().join("file"))).unwrap();
        let path = directory.path().join("job.fio");
        std::fs::write(&path, &text).unwrap();
        let output_of = |arguments: &[&str]| {
            let output =
                Command::new("fio").args(arguments).arg(&path).current_dir(&directory).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{text}\n{said}");
            (String::from_utf8_lossy(&output.stdout).into_owned(), said)
        };
        let (_, said) = output_of(&["--parse-only"]);
        assert_eq!(said, "", "{text}");
        let (account, _) = output_of(&["--output-format=json"]);
        let account: serde_json::Value =
            serde_json::from_str(&account[account.find('{').unwrap()..]).unwrap();
        let way = &account["jobs"][0][labels.operation.as_str()];
        let requests = way["total_ios"].as_u64().unwrap();
        assert!(requests > 0, "{text}");
        assert_eq!(way["io_bytes"].as_u64().unwrap() / requests, labels.request_bytes.unwrap(), "{text}");
        let _ = std::fs::remove_file(directory.path().join("file"));
    }
}

#[test]
fn exported_job_imports_as_the_same_load() {
    let directory = on_disk();
    let only = |labels: &Labels, method: &str, here: bool| here || labels.method != method;
    let here = |labels: &Labels| {
        only(labels, "aio", cfg!(target_os = "linux")) && only(labels, "posixaio", cfg!(unix))
    };
    let loads: Vec<Labels> = loads().into_iter().filter(here).collect();
    let mut text = String::from("[global]\ngroup_reporting\n");
    for labels in &loads {
        text += &job(labels, &target(&directory.path().join("file"))).unwrap();
    }
    let imported = import(&text, "back").unwrap();
    assert_eq!(imported.size, Some(64 << 20));
    // A run that is cancelled before it measures has cells with the labels of the trials.
    let found = document(&options(directory.path(), imported.toml, 16, 10));
    let known = |labels: &Labels| Labels { strategy: None, ..labels.clone() };
    let found: Vec<Labels> = found.cells.iter().map(|cell| known(&cell.labels)).collect();
    assert_eq!(found, loads.iter().map(known).collect::<Vec<_>>());
}

#[test]
fn both_measure_the_same_cells() {
    if !fullbore_testkit::runs_all("the same cells through fio") {
        return;
    }
    let Some(version) = fio() else { return };
    // Not in a memory file system, which has no direct I/O.
    let directory = on_disk();
    let toml = r#"
        [[experiment.grid]]
        action = "read"
        strategy = "method=buffered,request=64K,workers=1,model=serial"
        cache = "warm"
        [[experiment.grid]]
        action = "write"
        strategy = "method=buffered,request=64K,workers=2,model=striped,stripe=1M"
        file = "extended"
        [[experiment.grid]]
        action = "read"
        strategy = "method=direct,request=4K,workers=1,model=serial"
        order = "random"
        [[experiment.grid]]
        action = "read"
        strategy = "method=stdio,request=4K,workers=1,model=serial"
        cache = "warm"
        [[experiment.grid]]
        action = "transform"
        operation = "shift:1"
        strategy = "cci"
    "#;
    let options = options(directory.path(), experiment(toml), 16, 25);
    let document = document(&Options { with_fio: true, ..options });
    assert_eq!(document.cells.len(), 8, "three of them twice");
    assert!(document.run.notes.iter().any(|note| note.ends_with(&version)), "{:?}", document.run.notes);
    let said = |what: &str| document.run.notes.iter().any(|note| note.contains(what));
    assert!(said("FILE*") && said("fio only reads and writes"), "{:?}", document.run.notes);
    let peers = &document.findings.peers;
    let theirs: Vec<&Cell> = document.cells.iter().filter(|cell| cell.labels.peer.is_some()).collect();
    assert_eq!(theirs.len(), 3);
    for cell in theirs {
        if !was_measured(cell, |_| true) {
            continue;
        }
        let request = cell.labels.request_bytes.unwrap();
        for sample in &cell.samples {
            assert_eq!(sample.bytes, sample.requests * request, "{}", cell.id);
            assert!(sample.seconds > 0.0 && sample.charged_s() > 0.0, "{sample:?}");
            assert!(!matches!(sample.proof, Proof::Contradicted { .. }), "{}: {sample:?}", cell.id);
            // Requests are timed if fullbore's are.
            assert_eq!(sample.latency.is_some(), cell.labels.method == "direct", "{}", cell.id);
            let Some(latency) = sample.latency else { continue };
            assert!(
                latency.p50_s > 0.0 && latency.p50_s <= latency.p99_s && latency.p99_s <= latency.max_s * 1.1
            );
        }
        let ratio = peers.iter().find(|ratio| ratio.peer_cell == cell.id).unwrap();
        assert!(document.cell(&ratio.cell).unwrap().labels.peer.is_none());
        assert!(ratio.rate.ratio.value > 0.0 && ratio.cpu_per_request.unwrap() > 0.0);
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
}

#[test]
fn typical_job_files_are_read() {
    let text = "
        ; a typical file
        [global]
        ioengine=libaio
        direct=1
        runtime=60
        time_based
        group_reporting
        norandommap
        filename=/dev/nvme0n1
        size=4g
        [rand-read]
        rw=randread
        bs=4k
        iodepth=32
        numjobs=4
        [seq-write]
        stonewall
        rw=write
        bs=1m
        iodepth=8
        end_fsync=1
        overwrite=1
    ";
    let imported = import(text, "typical \"file\"").unwrap();
    let said = |what: &str| imported.notes.iter().any(|note| note.contains(what));
    assert!(said("filename=/dev/nvme0n1: "), "{:?}", imported.notes);
    assert!(said("--time") && said("norandommap") && said("group_reporting") && said("separately"));
    assert_eq!(imported.size, Some(4 << 30));
    let described = fullbore_bench::experiment::describe(&imported.toml).unwrap();
    let jobs: Vec<_> = described.iter().map(|(one, cells)| (one.name.as_str(), *cells)).collect();
    assert_eq!(jobs, [("typical \"file\": rand-read", 1), ("typical \"file\": seq-write", 1)]);
    assert!(
        imported.toml.contains("method=aio,request=4K,depth=32,workers=4,model=pool"),
        "{}",
        imported.toml
    );
    assert!(imported.toml.contains("flush = true") && !imported.toml.contains("nvme"), "{}", imported.toml);
    let job = "[a]\nrw=randread\nioengine=io_uring\nfixedbufs\nregisterfiles\nnumjobs=2\n";
    let imported = import(job, "without values").unwrap();
    assert!(imported.notes.iter().any(|note| note.contains("file of its own")), "{:?}", imported.notes);
}

#[test]
fn unsupported_options_are_rejected_with_line() {
    for (option, line, reason) in [
        ("rw=randrw", 3, "a job for each"),
        ("rw=trim", 3, "trims"),
        ("zonesize=64k", 3, "share the file"),
        ("zonemode=strided\nzonesize=9999p\nzoneskip=1\nnumjobs=256", 6, "reads the whole file"),
        ("rw=randread\nnumjobs=4\noffset_increment=1g", 5, "share the file"),
        ("filename=/dev/sda:/dev/sdb", 3, "several files"),
        ("rate_iops=1000", 3, "latency"),
        ("verify=crc32c", 3, "sum --check"),
        ("bssplit=4k/50:8k/50", 3, "one size"),
        ("bs=4kib", 3, "4096"),
        ("ioengine=rados", 3, "counterpart"),
        ("ioengine=libaio", 3, "synchronous"),
        ("fsync=1", 3, "end_fsync=1"),
        ("sync=1", 3, "dsync"),
        ("iodepth=soon", 3, "number"),
        ("zoned_magic=1", 3, "unknown option"),
        ("numjobs=2", 3, "streams"),
        ("size=20%", 3, "50%"),
        ("numjobs=1000", 3, "256"),
        ("rw=write\nfallocate=truncate", 4, "sparse"),
        ("cpus_allowed=0", 3, "taskset"),
        ("prio=0", 3, "ionice"),
        ("iodepth=0", 3, "at least 1"),
        ("bs=64m", 3, "32 MiB"),
        ("ramp_time=2d", 3, "a day"),
        (
            "zonemode=strided\nzonesize=1m\nzonerange=8m\nzoneskip=1m\noffset_increment=1m\nnumjobs=2",
            8,
            "reads the whole file",
        ),
    ] {
        let error = import(&format!("[a]\nbs=8k\n{option}\n"), "x").unwrap_err();
        assert_eq!((error.line, error.option.as_str()), (line, option.lines().last().unwrap()));
        assert!(error.why.contains(reason), "{error}");
    }
    assert!(import("", "x").is_err());
    // A direction without a size of its own has the usual one, as in fio.
    for (sizes, reads, writes) in
        [("8k", "8K", "8K"), ("8k,", "8K", "4K"), (",8k", "4K", "8K"), ("8k,16k,", "8K", "16K")]
    {
        for (rw, size) in [("read", reads), ("write", writes)] {
            let imported = import(&format!("[a]\nrw={rw}\nbs={sizes}\noverwrite=1\n"), "x").unwrap();
            assert!(imported.toml.contains(&format!("request={size},")), "{sizes}: {}", imported.toml);
        }
    }
    // Options that are switched off have no effect.
    assert!(import("[a]\nfsync=0\nverify=0\nhipri=0\nsync=0\nzonemode=none\n", "x").is_ok());
    // fio ignores the share of reads in other loads than mixed ones.
    assert!(import("[a]\nrw=read\nrwmixread=70\n", "x").is_ok());
    let error = import(&format!("[a]\nioengine={}\n", "x".repeat(999)), "x").unwrap_err().to_string();
    assert!(error.len() < 400 && error.ends_with("pvsync2"), "{error}");
    assert_eq!(error.matches(" psync,").count(), 1, "{error}");
    // Jobs of one name, and a name with a control character.
    let odd = import("[a\x01b]\nrw=read\n[c]\nrw=read\n[c]\nrw=read\n", "x").unwrap();
    let jobs = fullbore_bench::experiment::describe(&odd.toml).unwrap();
    let jobs: Vec<_> = jobs.iter().map(|(one, cells)| (one.name.as_str(), *cells)).collect();
    assert_eq!(jobs, [("x: a\u{1}b", 1), ("x: c", 1), ("x: c (2)", 1)]);
    let numbered = import("[a]\n[a]\n[a (2)]\n", "x").unwrap();
    let jobs = fullbore_bench::experiment::describe(&numbered.toml).unwrap();
    let jobs: Vec<_> = jobs.iter().map(|(one, _)| one.name.as_str()).collect();
    assert_eq!(jobs, ["x: a", "x: a (2)", "x: a (2) (2)"]);
    // Many of one name take no longer than others; options of [global] sections are limited in all.
    let many = import(&"[a]\n".repeat(20_000), "x").unwrap();
    assert!(many.toml.contains("\"x: a (20000)\""));
    let global = format!("[global]\n{}{}", "bs=4k\n".repeat(5000), "[a]\n".repeat(7500));
    assert!(import(&global, "x").unwrap_err().to_string().contains("[global]"));
    let durable = "[a]\nioengine=psync\nrw=write\noverwrite=1\ndirect=1\nsync=dsync\n";
    let durable = import(durable, "x").unwrap();
    assert!(durable.toml.contains("method=through,cache=direct,"), "{}", durable.toml);
    let usual = import("[a]\nrw=randread\ndirect=1\niodepth=32\n", "x").unwrap().toml;
    let engine = if cfg!(windows) { ["method=port,", "depth=32,"] } else { ["method=direct,", "depth=1,"] };
    assert!(engine.iter().all(|part| usual.contains(part)), "{usual}");
}

#[test]
fn the_job_of_a_cell_or_of_a_choice_is_found() {
    let cell = |id: &str, method: &str, job: &str| {
        let labels = Labels { job: job.into(), method: method.into(), ..loads()[0].clone() };
        let mut cell = Cell::new(id, "read", labels);
        cell.samples = (0..5)
            .map(|round| fullbore_bench::document::Sample {
                round,
                bytes: 1 << 20,
                seconds: if method == "mmap" { 0.5 } else { 1.0 },
                requests: 16,
                user_s: 0.1,
                proof: Proof::Confirmed,
                ..Default::default()
            })
            .collect();
        cell.summarise(&Default::default());
        cell
    };
    let mut document = Document::new(
        fullbore_bench::document::Run { file_bytes: 64 << 20, ..Default::default() },
        Default::default(),
    );
    document.cells = vec![cell("a", "mmap", "read"), cell("b", "buffered", "read"), cell("c", "stdio", "")];
    document.findings = fullbore_bench::analysis::findings(&document.cells, &[]);
    let text = |wanted| export(&document, wanted, "/dir".as_ref());
    assert!(text(JobSource::Cell("b")).unwrap().contains("ioengine=psync\n"));
    let chosen = text(JobSource::Choice("read")).unwrap();
    assert!(chosen.contains("ioengine=mmap\n") && chosen.contains("[read, warm]"), "{chosen}");
    assert!(chosen.contains("filename=/dir"), "{chosen}");
    assert_eq!(text(JobSource::Choice("read, warm")), Ok(chosen));
    assert!(text(JobSource::Cell("c")).unwrap_err().to_string().contains("FILE*"));
    assert!(text(JobSource::Cell("d")).unwrap_err().to_string().contains("no cell"));
    assert!(text(JobSource::Choice("dance")).unwrap_err().to_string().contains("read, warm"));
    // The text of a document ends no comment.
    document.cells[1].labels.model = Some("serial\n[global]\nexec_prerun=touch pwned\n;".into());
    let text = export(&document, JobSource::Cell("b"), "/dir".as_ref()).unwrap();
    assert!(!text.lines().any(|line| line.starts_with("[global]") || line.starts_with("exec")), "{text}");
}
