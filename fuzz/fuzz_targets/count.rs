//! Counts any bytes, cut anywhere and merged from either side: the result equals that of the whole, and the counts are
//! in bounds.
#![no_main]
#![forbid(unsafe_code)]

use arbitrary::Arbitrary;
use fullbore::operation::{Count, Encoding, Fold};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    utf8: bool,
    columns: bool,
    lines_only: bool,
    posixly_correct: bool,
    /// Lengths of the parts; the last part is the rest.
    cuts: Vec<u16>,
    bytes: &'a [u8],
}

fuzz_target!(|case: Case<'_>| {
    let mut count = Count::new(if case.utf8 { Encoding::Utf8 } else { Encoding::Bytes });
    if case.columns {
        count = count.with_columns();
    }
    if case.lines_only {
        count = count.lines_only();
    }
    if case.posixly_correct {
        count = count.posixly_correct();
    }
    let whole = count.of(case.bytes);
    let mut parts = Vec::new();
    let mut rest = case.bytes;
    for cut in &case.cuts {
        let (part, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);

    let mut going = count.identity();
    parts.iter().for_each(|part| count.block(&mut going, 0, part));
    assert_eq!(count.counts(&going), whole, "one part after the other");
    let mut behind = count.identity();
    for part in parts.iter().rev() {
        let mut state = count.identity();
        count.block(&mut state, 0, part);
        count.merge(&mut state, behind);
        behind = state;
    }
    assert_eq!(behind, going, "from the last part to the first");

    assert_eq!(whole.bytes, case.bytes.len() as u64);
    assert!(
        whole.characters <= whole.bytes
            && whole.lines <= whole.bytes
            && whole.words <= whole.bytes.div_ceil(2)
    );
    assert!(whole.columns <= whole.bytes * 8);
});
