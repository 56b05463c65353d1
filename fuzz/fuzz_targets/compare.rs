//! Compares two inputs with any cuts by any workers: the results equal those of a plain loop.
#![no_main]
#![forbid(unsafe_code)]

use std::io::Write;
use std::ops::ControlFlow;

use arbitrary::Arbitrary;
use fullbore::engine::method;
use fullbore::file::File;
use fullbore::pattern::{
    CompareOptions, Comparison, Difference, Progress, Side, Which, compare, differences,
};
use fullbore::strategy::{Model, Strategy};
use libfuzzer_sys::fuzz_target;

/// Longer than a page, so that lengths count as reliable and the inputs are striped; the rest is up to the fuzzer.
const PAGES: usize = 5000;

#[derive(Debug, Arbitrary)]
struct Case {
    filler: u8,
    /// Positions and values of the differences in the right input.
    changes: Vec<(u16, u8)>,
    tails: [Vec<u8>; 2],
    skip: [u16; 2],
    limit: Option<u16>,
    requests: [u16; 2],
    stripe: u16,
    workers: u8,
    methods: [bool; 2],
    small: bool,
}

fuzz_target!(|case: Case| {
    let len = if case.small { 40 } else { PAGES };
    // Lines of different lengths, or the same byte throughout.
    let mut left: Vec<u8> = (0..len).map(|at| if at * at % 31 == 7 { b'\n' } else { case.filler }).collect();
    let mut right = left.clone();
    for (place, value) in &case.changes {
        let place = usize::from(*place) % len;
        right[place] ^= value;
    }
    left.extend(&case.tails[0]);
    right.extend(&case.tails[1]);
    let file = |data: &[u8]| {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(data).expect("enough space");
        std::io::Seek::rewind(&mut file).expect("a position");
        File::from_fd(file.into(), "compared").expect("an open file")
    };
    let strategy = |side: usize| Strategy {
        read: method(if case.methods[side] { "mmap" } else { "buffered" }).expect("a registered method"),
        request: usize::from(case.requests[side] % 6000) + 1,
        stripe: u64::from(case.stripe) + 1,
        workers: usize::from(case.workers % 8) + 1,
        model: Model::Pool,
        ..Strategy::plain()
    };
    let (files, strategies) = ([file(&left), file(&right)], [strategy(0), strategy(1)]);
    let side = |side: usize| Side {
        file: &files[side],
        choice: (&strategies[side]).into(),
        skip: u64::from(case.skip[side] % 6000),
    };
    let limit = case.limit.map(u64::from);
    let cut = |data: &[u8], side: usize| {
        let rest = &data[data.len().min(usize::from(case.skip[side] % 6000))..];
        rest[..rest.len().min(case.limit.map_or(usize::MAX, usize::from))].to_vec()
    };
    let (left, right) = (cut(&left, 0), cut(&right, 1));

    let values = |found: &Difference| (found.offset, found.left, found.right);
    let all: Vec<(u64, u8, u8)> = (0..)
        .zip(left.iter().zip(&right))
        .filter(|(_, (left, right))| left != right)
        .map(|(offset, (&left, &right))| (offset, left, right))
        .collect();
    let lines = |end: usize| left[..end].iter().filter(|&&byte| byte == b'\n').count() as u64;
    let options = CompareOptions { limit, lines: true };
    let (_, found) = compare(&side(0), &side(1), &options, &Progress::default()).expect("no error");
    let common = left.len().min(right.len());
    match (all.first(), found) {
        (Some(first), Comparison::Differ { at, lines: counted }) => {
            assert_eq!((values(&at), counted), (*first, lines(first.0 as usize)));
        }
        (None, Comparison::Equal) => assert_eq!(left.len(), right.len()),
        (None, Comparison::End(end)) => {
            let shorter = if left.len() < right.len() { Which::Left } else { Which::Right };
            assert_ne!(left.len(), right.len());
            assert_eq!((end.side, end.offset, end.lines), (shorter, common as u64, lines(common)));
            assert_eq!(end.fresh, common > 0 && left[common - 1] == b'\n');
        }
        (first, found) => panic!("{found:?} instead of {first:?}"),
    }

    let mut seen = Vec::new();
    let find =
        |offset, left: &[u8], right: &[u8]| Difference::between(offset, left, right).collect::<Vec<_>>();
    let emit = |some: Vec<Difference>| {
        seen.extend(some.iter().map(values));
        Ok(ControlFlow::Continue(()))
    };
    let (_, summary) =
        differences(&side(0), &side(1), limit, &Progress::default(), find, emit).expect("no error");
    assert_eq!(seen, all);
    assert_eq!(summary.differ, !all.is_empty());
    assert_eq!(summary.end.is_some(), left.len() != right.len());
});
