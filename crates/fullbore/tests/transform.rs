//! Transformations: any strategy, operation and size gives the result of the scalar, serial run.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use fullbore::engine::METHODS;
use fullbore::error::Error;
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::{self, Kernel, Transform};
use fullbore::strategy::{Allocation, Model, NAMED};
use fullbore::{Job, op};
use fullbore_testkit::ground::{bytes, directories, everywhere, write_file};
use proptest::prelude::*;

mod planned;

/// Applies the operation to `data` by its definition.
fn expected(operation: &str, data: &[u8]) -> Vec<u8> {
    match operation {
        "none" => data.to_vec(),
        "shift:10" => data.iter().map(|byte| byte.wrapping_add(10)).collect(),
        "shift:-10" => data.iter().map(|byte| byte.wrapping_sub(10)).collect(),
        "xor:0102ff" => data.iter().zip([1, 2, 0xff].iter().cycle()).map(|(byte, key)| byte ^ key).collect(),
        "upper" => data.to_ascii_uppercase(),
        "swab" => data.chunks(2).flat_map(|pair| pair.iter().rev().copied().collect::<Vec<_>>()).collect(),
        other => panic!("no definition of {other}"),
    }
}

/// Transforms by a strategy as the command does; false if the strategy is unavailable.
fn run(
    operation: &dyn Transform,
    input: &Path,
    output: &Path,
    placement: Option<Placement>,
    strategy: &str,
) -> Result<bool, Error> {
    let source = File::open(input)?;
    let target = match placement {
        Some(placement) => Output::create_with(output, placement, Some(&source))?,
        None => Output::in_place(input)?,
    };
    planned::transform(operation, strategy, &source, target, Durability::None)
}

fn simd(operation: &str) -> Box<dyn Transform> {
    operation::parse(operation, Kernel::Simd).unwrap()
}

#[test]
fn every_engine_worker_model_and_allocation_gives_the_same_bytes() {
    const REQUEST: usize = 8192;
    let around = |edge: usize| [edge - 1, edge, edge + 1];
    let sizes: Vec<usize> = [1, 4096, REQUEST, 6 * REQUEST].into_iter().flat_map(around).collect();
    everywhere(|directory| {
        let (input, output) = (directory.join("in"), directory.join("out"));
        // Opening a file takes Wine milliseconds: one size behind each edge.
        let sizes = sizes.iter().copied().enumerate().filter(|(turn, _)| cfg!(unix) || turn % 3 == 2);
        for (turn, size) in sizes {
            let data = bytes(size, size as u64);
            fs::write(&input, &data).unwrap();
            let wanted = expected("shift:10", &data);
            let methods =
                METHODS.iter().filter(|method| method.capabilities.transfers && method.name != "null");
            for (place, method) in methods.enumerate() {
                for (model, allocation, overwrite) in combinations(turn + place) {
                    let workers = if model == Model::Serial { 1 } else { 3 };
                    let strategy = format!(
                        "method={},request=8K,depth=4,workers={workers},model={model},stripe=16K,window=16K,alloc={allocation}",
                        method.name
                    );
                    if overwrite {
                        fs::write(&output, bytes(size / 2, 77)).unwrap();
                    } else {
                        let _ = fs::remove_file(&output);
                    }
                    let placement = if overwrite { Placement::Overwrite } else { Placement::Replace };
                    if run(&*simd("shift:10"), &input, &output, Some(placement), &strategy).unwrap() {
                        assert!(fs::read(&output).unwrap() == wanted, "{strategy}, {size}, {overwrite}");
                    }
                }
            }
        }
    });
}

/// Returns six of the eighteen combinations, so that each pair of values occurs; three turns cover all of them.
/// (Closing a native AIO context takes the kernel tens of milliseconds: all at every size would take minutes.)
fn combinations(turn: usize) -> impl Iterator<Item = (Model, Allocation, bool)> {
    const MODELS: [Model; 3] = [Model::Serial, Model::Striped, Model::Pool];
    const ALLOCATIONS: [Allocation; 3] = [Allocation::Extend, Allocation::Size, Allocation::Fallocate];
    (0..3).flat_map(move |index| {
        [false, true].map(|overwrite| {
            (MODELS[index], ALLOCATIONS[(index + turn + usize::from(overwrite)) % 3], overwrite)
        })
    })
}

#[test]
fn three_turns_cover_all_combinations() {
    let mut seen = Vec::new();
    for combination in (0..3).flat_map(combinations) {
        assert!(!seen.contains(&combination));
        seen.push(combination);
    }
    assert_eq!(seen.len(), 18);
}

/// Strategies as a user writes them.
const WRITTEN: [&str; 8] = [
    "auto",
    "request=4K,workers=3,model=pool,stripe=64K",
    "read=direct,write=buffered,request=1M",
    "read=uring,depth=32,cache=direct,request=16K",
    "method=vectored,depth=7,request=5000",
    "method=mmap,window=128K,workers=2,model=striped",
    "cache=drop",
    "cci-mt,workers=4",
];

#[test]
fn every_named_strategy_gives_the_same_bytes() {
    for directory in directories() {
        let (input, output) = (directory.path().join("in"), directory.path().join("out"));
        let data = bytes(1_234_567, 1);
        fs::write(&input, &data).unwrap();
        for name in NAMED.iter().map(|named| named.name).chain(WRITTEN) {
            for placement in [Placement::Replace, Placement::Overwrite] {
                if run(&*simd("xor:0102ff"), &input, &output, Some(placement), name).unwrap() {
                    assert!(fs::read(&output).unwrap() == expected("xor:0102ff", &data), "{name}");
                }
            }
            fs::write(&output, &data).unwrap();
            let ran = run(&*simd("shift:10"), &output, &output, None, name).unwrap();
            assert!(ran || WRITTEN.contains(&name), "{name} is not available");
            if ran {
                assert!(fs::read(&output).unwrap() == expected("shift:10", &data), "{name} in place");
            }
        }
    }
}

#[test]
fn kernel_copies_give_the_same_bytes() {
    for directory in directories() {
        let (input, output) = (directory.path().join("in"), directory.path().join("out"));
        let data = bytes(3_000_001, 1);
        fs::write(&input, &data).unwrap();
        for method in METHODS.iter().filter(|method| method.capabilities.copies_in_kernel) {
            for workers in ["workers=1", "workers=3,model=pool,stripe=1M"] {
                let strategy = format!("method={},{workers}", method.name);
                if run(&*simd("none"), &input, &output, Some(Placement::Replace), &strategy).unwrap() {
                    // An operation that changes bytes is refused.
                    let changed = run(&*simd("upper"), &input, &output, Some(Placement::Replace), &strategy);
                    assert_eq!(changed.unwrap_err().kind(), fullbore::ErrorKind::Unsupported, "{strategy}");
                    assert!(fs::read(&output).unwrap() == data, "{strategy}");
                }
            }
        }
    }
}

fn strategies() -> impl Strategy<Value = String> {
    let methods: Vec<&str> = METHODS
        .iter()
        .filter(|method| method.capabilities.transfers && method.name != "null")
        .map(|method| method.name)
        .collect();
    (
        proptest::sample::select(methods.clone()),
        proptest::sample::select(methods),
        1usize..20_000,
        1usize..9,
        1usize..5,
        proptest::sample::select(vec!["serial", "striped", "pool"]),
        1usize..60_000,
        proptest::sample::select(vec!["extend", "size", "fallocate"]),
        proptest::sample::select(vec!["any", "ordered"]),
        prop_oneof![Just("whole".to_owned()), (1usize..50_000).prop_map(|window| window.to_string())],
    )
        .prop_map(|(read, write, request, depth, workers, model, stripe, alloc, completion, window)| {
            format!(
                "read={read},write={write},request={request},depth={depth},workers={workers},model={model},\
                 stripe={stripe},alloc={alloc},completion={completion},window={window}"
            )
        })
}

/// Opening a file takes Wine milliseconds.
const CASES: u32 = if cfg!(windows) { 48 } else { 192 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_strategy_any_operation_any_size_equals_the_scalar_serial_result(
        strategy in strategies(),
        operation in proptest::sample::select(vec!["none", "shift:10", "xor:0102ff", "upper", "swab"]),
        size in 0usize..150_000,
        placement in proptest::sample::select(vec![Placement::Replace, Placement::Overwrite]),
    ) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (input, output) = (directory.path().join("in"), directory.path().join("out"));
        let data = bytes(size, size as u64);
        fs::write(&input, &data).unwrap();
        let ran = run(&*simd(operation), &input, &output, Some(placement), &strategy).unwrap();
        if ran {
            prop_assert!(fs::read(&output).unwrap() == expected(operation, &data), "{} {}", strategy, operation);
            let scalar = operation::parse(operation, Kernel::Scalar).unwrap();
            run(&*scalar, &input, &output, Some(Placement::Replace), "workers=1").unwrap();
            prop_assert!(fs::read(&output).unwrap() == expected(operation, &data), "scalar {}", operation);
        }
    }

    #[test]
    fn shift_and_shift_back_is_the_identity(strategy in strategies(), shift in -1000i64..1000, size in 0usize..50_000) {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("file");
        let data = bytes(size, 3);
        fs::write(&path, &data).unwrap();
        let there = run(&*simd(&format!("shift:{shift}")), &path, &path, None, &strategy).unwrap();
        let back = run(&*simd(&format!("shift:{}", -shift)), &path, &path, None, &strategy).unwrap();
        prop_assert_eq!(there, back);
        prop_assert!(fs::read(&path).unwrap() == data, "{}", strategy);
    }
}

/// Found by a property: the padding was taken for bytes that another process appended.
#[test]
fn a_direct_write_in_place_pads_a_block_and_restores_the_length() {
    everywhere(|directory| {
        let path = write_file(directory, "file", "a");
        let strategy = "read=buffered,write=direct,request=1,workers=1,model=serial";
        let ran = run(&*simd("shift:1"), &path, &path, None, strategy).unwrap();
        assert_eq!(fs::read(&path).unwrap(), if ran { b"b" } else { b"a" });
    });
}

#[test]
fn an_open_file_is_an_output() {
    let directory = tempfile::tempdir().unwrap();
    let (path, text) = (directory.path().join("input"), bytes(2_600_000, 3));
    fs::write(&path, &text).unwrap();
    let transform = |output: fs::File| {
        Job::new().transform_to(&op::shift(0), &path, Output::try_from(output).unwrap()).unwrap()
    };
    let mut file = tempfile::tempfile().unwrap();
    let content = |file: &mut fs::File| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    transform(file.try_clone().unwrap());
    assert!(content(&mut file) == text);
    // After a position, the output follows what is there.
    file.set_len(0).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(b"head").unwrap();
    transform(file.try_clone().unwrap());
    assert!(content(&mut file) == [&b"head"[..], &text].concat());
    let (mut receiver, sender) = std::io::pipe().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        receiver.read_to_end(&mut bytes).map(|_| bytes)
    });
    transform(fs::File::from(fullbore::sys::Handle::from(sender)));
    assert!(reader.join().unwrap().unwrap() == text);
}
