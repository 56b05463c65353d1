use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore_testkit::{ground, or_skip};

use super::open::{
    Allocation, Completion, Interface, InterfaceEntry, OpenConfig, OptionalSetting, Pass, Payload,
    RecordOrder,
};
use super::settings::INTERFACES;
use super::workload::parse;
use fullbore::Result;
use fullbore::error::ErrorKind;
use fullbore::file::Hint;

const SEED: u64 = 7;

/// Lengths of files in bytes: whole pages and others, shorter than a record and longer than many.
const LENGTHS: &[u64] = &[1, 4096, 100_003];

/// True if the interface can work here: containers often refuse io_uring, which compio needs.
pub(super) fn available(name: &str) -> bool {
    name != "compio" || or_skip(name, ::compio::runtime::Runtime::new()).is_some()
}

fn configs(path: &Path, record: usize, bytes: &Payload) -> Vec<(&'static InterfaceEntry, OpenConfig)> {
    let mut all = Vec::new();
    for entry in INTERFACES.iter().filter(|known| available(known.name)) {
        let plain = OpenConfig {
            path: path.to_owned(),
            new: None,
            record,
            buffer: None,
            direct: false,
            huge_pages: false,
            memory_offset: 0,
            hint: None,
            vectors: 1,
            depth: 1,
            completion: Completion::Each,
            bytes: bytes.clone(),
        };
        for &completion in entry.completions {
            let depth = if completion == Completion::Each { 1 } else { 5 };
            all.push((entry, OpenConfig { depth, completion, ..plain.clone() }));
        }
        if entry.takes.contains(&OptionalSetting::Buffer) {
            for buffer in [0, 1, 1000, 64 << 10] {
                all.push((entry, OpenConfig { buffer: Some(buffer), ..plain.clone() }));
            }
        }
        if entry.takes.contains(&OptionalSetting::Hints) {
            // Windows has no such hint as the last.
            let hints: &[Hint] = &[Hint::Sequential, Hint::Random, Hint::NoReuse];
            for &hint in &hints[..if cfg!(windows) { 2 } else { 3 }] {
                all.push((entry, OpenConfig { hint: Some(hint), ..plain.clone() }));
            }
        }
        if entry.takes.contains(&OptionalSetting::Vectors) {
            for vectors in [2, 5, 16].into_iter().filter(|vectors| record.is_multiple_of(*vectors)) {
                all.push((entry, OpenConfig { vectors, ..plain.clone() }));
            }
        }
    }
    all
}

fn open(entry: &InterfaceEntry, config: &OpenConfig) -> Result<Box<dyn Interface>> {
    (entry.open)(config, &mut config.pool()?)
}

/// Returns passes over a file of `len` bytes: whole, in part, in random order.
fn passes(len: u64, record: usize) -> Vec<(Pass, &'static str)> {
    let part = len / 3..len - len / 4;
    let count = len.div_ceil(record as u64) / 2 + 1;
    vec![
        (Pass::new(0..len, record, RecordOrder::Forward, len), "forward"),
        (Pass::new(part.clone(), record, RecordOrder::Forward, len), "part forward"),
        (Pass::new(0..len, record, RecordOrder::Backward, len), "backward"),
        (Pass::new(part, record, RecordOrder::Backward, len), "part backward"),
        (Pass::new(0..len, record, RecordOrder::Random { seed: 1, count }, len), "random"),
        (Pass::new(0..len / 2, record, RecordOrder::Random { seed: 2, count }, len), "random over half"),
    ]
}

#[derive(Debug)]
struct ReadCoverage {
    data: Vec<u8>,
    times: Vec<u8>,
}

impl ReadCoverage {
    /// Checks that the bytes that were read are those of `data`, and discards them.
    fn check(&mut self, data: &[u8], what: &str) {
        let right = |((&read, &there), &times): ((&u8, &u8), &u8)| times == 0 || read == there;
        assert!(self.data.iter().zip(data).zip(&self.times).all(right), "{what}: other data");
        (self.data, self.times) = (vec![0; data.len()], vec![0; data.len()]);
    }
}

fn observer(len: u64) -> (Arc<Mutex<ReadCoverage>>, Payload) {
    let seen =
        Arc::new(Mutex::new(ReadCoverage { data: vec![0; len as usize], times: vec![0; len as usize] }));
    let shared = seen.clone();
    let look = move |offset: u64, data: &[u8]| {
        let mut seen = shared.lock().unwrap();
        let range = offset as usize..offset as usize + data.len();
        seen.data[range.clone()].copy_from_slice(data);
        seen.times[range].iter_mut().for_each(|times| *times += 1);
    };
    (seen, Payload::Read(Some(Arc::new(look))))
}

#[test]
fn every_interface_reads_each_byte_of_the_pass_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for &len in LENGTHS {
        let data = ground::bytes(len as usize, len);
        fs::write(&path, &data).unwrap();
        for record in [1000, 4096, 20_480] {
            for (pass, name) in passes(len, record) {
                let mut wanted = vec![0; len as usize];
                for (offset, len) in pass.records() {
                    wanted[offset as usize..offset as usize + len].iter_mut().for_each(|times| *times += 1);
                }
                assert!(wanted.iter().all(|&times| times <= 1), "{name}: a record comes twice");
                assert_eq!(wanted.iter().map(|&times| u64::from(times)).sum::<u64>(), pass.bytes(), "{name}");
                let (seen, bytes) = observer(len);
                for (entry, config) in configs(&path, record, &bytes) {
                    let what = format!("{} {config:?} of {len} bytes, {name}", entry.name);
                    let mut opened = open(entry, &config).unwrap_or_else(|e| panic!("{what}: {e}"));
                    opened.pass(&pass).unwrap_or_else(|e| panic!("{what}: {e}"));
                    let mut seen = seen.lock().unwrap();
                    assert!(seen.times == wanted, "{what}: other bytes than requested");
                    seen.check(&data, &what);
                }
            }
        }
    }
}

#[test]
fn every_interface_writes_the_bytes_of_the_pass_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for &len in LENGTHS {
        let old = ground::bytes(len as usize, len);
        for record in [1000, 4096, 20_480] {
            for (pass, name) in passes(len, record) {
                let mut wanted = old.clone();
                let stamped = Stamped::new(SEED, record);
                // The content of a record depends on the calls into which it is split: each call's data starts at the
                // template's start.
                let bytes = Payload::written(Stamped::new(SEED, record), record);
                for (entry, mut config) in configs(&path, record, &bytes) {
                    let each = record / config.vectors;
                    config.bytes = Payload::written(Stamped::new(SEED, record), each);
                    for (offset, len) in pass.records() {
                        for at in (0..len).step_by(each) {
                            let part = offset as usize + at..offset as usize + len.min(at + each);
                            stamped.fill(part.start as u64, &mut wanted[part]);
                        }
                    }
                    fs::write(&path, &old).unwrap();
                    let what = format!("{} {config:?} of {len} bytes, {name}", entry.name);
                    let mut opened = open(entry, &config).unwrap_or_else(|e| panic!("{what}: {e}"));
                    // Twice, because used buffers must work again.
                    for _ in 0..2 {
                        opened.pass(&pass).unwrap_or_else(|e| panic!("{what}: {e}"));
                        assert!(fs::read(&path).unwrap() == wanted, "{what}: other bytes");
                    }
                    opened.flush().unwrap_or_else(|e| panic!("{what}: {e}"));
                }
            }
        }
    }
}

#[test]
fn new_file_has_the_written_data_with_every_allocation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let (len, record) = (100_003, 4096);
    let mut wanted = vec![0; len as usize];
    let stamped = Stamped::new(SEED, record);
    let pass = Pass::new(0..len, record, RecordOrder::Forward, len);
    for (offset, len) in pass.records() {
        stamped.fill(offset, &mut wanted[offset as usize..offset as usize + len]);
    }
    let mut made = 0;
    for entry in INTERFACES.iter().filter(|known| known.takes.contains(&OptionalSetting::New)) {
        let mut ways = vec![Allocation::Extend, Allocation::Size];
        if entry.takes.contains(&OptionalSetting::Preallocation) {
            ways.extend([Allocation::Reserve, Allocation::Fallocate]);
        }
        for allocation in ways {
            let bytes = Payload::written(Stamped::new(SEED, record), record);
            let (_, plain) = configs(&path, record, &bytes).swap_remove(0);
            let config = OpenConfig { new: Some((len, allocation)), ..plain };
            let what = format!("{} {allocation:?}", entry.name);
            let mut opened = match open(entry, &config) {
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    eprintln!("skipped: {what}: {error}");
                    let _ = fs::remove_file(&path);
                    continue;
                }
                opened => opened.unwrap_or_else(|e| panic!("{what}: {e}")),
            };
            opened.pass(&pass).unwrap();
            drop(opened);
            assert!(fs::read(&path).unwrap() == wanted, "{what}: other bytes");
            fs::remove_file(&path).unwrap();
            made += 1;
        }
    }
    assert!(made >= 10, "extending and sizing work everywhere");
}

#[test]
fn direct_passes_transfer_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (len, record) = (1 << 20, 16 << 10);
    let data = ground::bytes(len as usize, len);
    let path = ground::write_file(&directory, "file", &data);
    fs::File::options().write(true).open(&path).unwrap().sync_all().unwrap();
    let pass = Pass::new(0..len, record, RecordOrder::Random { seed: 3, count: 40 }, len);
    let (seen, bytes) = observer(len);
    for (entry, config) in configs(&path, record, &bytes) {
        if !entry.takes.contains(&OptionalSetting::Direct) || config.hint.is_some() {
            continue;
        }
        let config = OpenConfig { direct: true, ..config };
        let what = format!("{} {config:?}", entry.name);
        let Some(mut opened) = or_skip(&what, open(entry, &config)) else { continue };
        opened.pass(&pass).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut seen = seen.lock().unwrap();
        assert_eq!(seen.times.iter().filter(|&&times| times == 1).count(), 40 * record, "{what}");
        seen.check(&data, &what);
    }
}

#[test]
fn truncated_file_is_an_error_without_panic() {
    let directory = tempfile::tempdir().unwrap();
    let path = ground::write_file(&directory, "file", ground::bytes(10_000, 10_000));
    let pass = Pass::new(0..20_000, 1000, RecordOrder::Forward, 20_000);
    for (entry, config) in configs(&path, 1000, &Payload::Read(None)) {
        let mut opened = open(entry, &config).unwrap();
        let error = opened.pass(&pass).expect_err(entry.name);
        assert_eq!(error.path(), path, "{}", entry.name);
    }
}

#[test]
fn missing_file_is_named() {
    let path = Path::new("no such directory/file");
    for (entry, config) in configs(path, 1000, &Payload::Read(None)) {
        let error = open(entry, &config).err().expect(entry.name);
        assert_eq!(error.path(), path, "{}", entry.name);
    }
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<&str> = INTERFACES.iter().map(|known| known.name).collect();
    assert_eq!(names.len(), INTERFACES.len());
}

#[test]
fn settings_an_interface_ignores_are_rejected() {
    let refused = |settings: &str| {
        let settings = format!("record = \"4K\"\n{settings}").parse().unwrap();
        parse(settings).expect_err("the settings are invalid").to_string()
    };
    let read = |settings: &str| refused(&format!("direction = \"read\"\n{settings}"));
    let write = |settings: &str| refused(&format!("direction = \"write\"\n{settings}"));
    assert!(read("interface = \"pascal\"").contains("std-buffered"));
    assert!(read("interface = \"std\"\nbuffer = \"4K\"").contains("stream"));
    assert!(read("interface = \"tokio\"\ndirect = true").contains("asynchronous"));
    assert!(read("interface = \"std\"\nhint = \"random\"").contains("file"));
    assert!(read("interface = \"std\"\nhuge_pages = true").contains("asynchronous"));
    assert!(read("interface = \"tokio\"\nmemory_offset = 16").contains("std-positional"));
    assert!(read("interface = \"std\"\nmemory_offset = 4096").contains("less than 4096"));
    assert!(write("interface = \"std\"\nmemory_offset = 16").contains("for reads"));
    assert!(read("interface = \"stream\"\nvectors = 4").contains("vectors"));
    assert!(read("interface = \"file\"\nvectors = 3").contains("divide"));
    assert!(read("interface = \"file\"\nvectors = 0").contains("vectors"));
    assert!(read("interface = \"std\"\nflush = true").contains("writes"));
    assert!(read("interface = \"std\"\nfile = \"new\"").contains("writes"));
    assert!(read("interface = \"asynchronous\"\ndepth = 8").contains("completion"));
    assert!(read("interface = \"asynchronous\"\ncompletion = \"any\"").contains("depth"));
    assert!(read("interface = \"std\"\ndepth = 8\ncompletion = \"threads\"").contains("one at a time"));
    assert!(read("interface = \"file\"\ndepth = 1000\ncompletion = \"threads\"").contains("256"));
    assert!(read("interface = \"file\"\ndirect = true\ncache = \"cold\"").contains("leave cache out"));
    assert!(write("interface = \"file\"\nfile = \"new\"").contains("allocation"));
    assert!(write("interface = \"file\"\nallocation = \"size\"").contains("allocation"));
    assert!(write("interface = \"std\"\nfile = \"new\"\nallocation = \"reserve\"").contains("preallocation"));
    assert!(
        write("interface = \"std\"\nfile = \"new\"\nallocation = \"size\"\norder = \"random\"")
            .contains("sequentially")
    );
    assert!(read("interface = \"std\"\nspeed = \"high\"").contains("speed"));
    let huge = "interface = \"asynchronous\"\ndirection = \"read\"\nrecord = \"64M\"";
    let huge = |depth: usize| {
        let settings = format!("{huge}\ncompletion = \"any\"\ndepth = {depth}");
        parse(settings.parse().unwrap())
    };
    huge(16).unwrap();
    assert!(huge(17).unwrap_err().contains("exceed"));
}
