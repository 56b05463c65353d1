//! Searches in parts: for any cuts and settings, the output equals that of ripgrep's own searcher and printer on the
//! whole text.
#![no_main]
#![forbid(unsafe_code)]

use arbitrary::Arbitrary;
use fullbore_grep::{Boundary, Case, Nuls, Query, ReadMode, Settings, Show};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fullbore-grep/tests/search/mod.rs"]
mod search;

#[derive(Debug, Arbitrary)]
struct Input {
    text: Vec<u8>,
    pattern: u8,
    show: u8,
    flags: u32,
    before: u8,
    after: u8,
    limit: Option<u8>,
    request: u8,
    workers: u8,
}

const PATTERNS: [&str; 12] =
    ["a", "^a", "a$", "", "^$", r"\bab\b", "a.*b", "[^a]", r"\w+", "b*", "\u{e9}", "(?i)needle"];

fuzz_target!(|input: Input| {
    let flag = |index: u32| input.flags >> index & 1 == 1;
    let settings = Settings {
        patterns: vec![PATTERNS[usize::from(input.pattern) % PATTERNS.len()].into()],
        case: if flag(0) { Case::Insensitive } else { Case::Sensitive },
        boundary: match (flag(1), flag(2)) {
            (true, false) => Some(Boundary::Word),
            (true, true) => Some(Boundary::Line),
            _ => None,
        },
        show: [Show::Lines, Show::Count, Show::CountMatches, Show::PathsWith, Show::PathsWithout]
            [usize::from(input.show) % 5],
        nuls: if flag(3) { Nuls::Text } else { Nuls::Auto },
        before_context: usize::from(input.before % 4),
        after_context: usize::from(input.after % 4),
        max_count: input.limit.map(|limit| u64::from(limit % 8) + 1),
        invert_match: flag(4),
        line_number: flag(5),
        column: flag(6),
        byte_offset: flag(7),
        only_matching: flag(8),
        passthru: flag(9) && flag(10),
        crlf: flag(11),
        color: flag(12),
        heading: flag(13),
        with_filename: flag(14),
        trim: flag(15),
        include_zero: flag(16),
        max_columns: flag(17).then_some(9),
        max_columns_preview: flag(18),
        replace: flag(19).then(|| b"<$0>".to_vec()),
        vimgrep: flag(20),
        ..Settings::default()
    };
    let (read_mode, named) = (if flag(21) { ReadMode::Mapped } else { ReadMode::Streamed }, flag(22));
    let query = Query::new(settings).expect("valid patterns");
    let text = input.text.as_slice();
    if query.whole_file_reason(query.source_info(read_mode, named, text)).is_some() {
        return;
    }
    let (request, workers) = (usize::from(input.request) + 1, usize::from(input.workers % 8) + 1);
    let (expected, whole) = search::whole(&query, read_mode, named, text);
    let (printed, parts) = search::in_parts(&query, read_mode, named, text, request, workers);
    assert_eq!(String::from_utf8_lossy(&printed), String::from_utf8_lossy(&expected), "{input:?}");
    assert_eq!(parts.matched, whole.matched, "{input:?}");
});
