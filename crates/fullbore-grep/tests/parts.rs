//! The results of a search in parts equal those of ripgrep's own searcher and printer on the whole, for any cuts.

use fullbore_grep::{Boundary, Nuls, Query, ReadMode, Settings, Show};
use proptest::prelude::*;
use search::{in_parts, whole};

mod search;

/// Removes times, which differ between runs.
fn timeless(text: &[u8]) -> String {
    let text: String = text.iter().map(|&byte| byte as char).collect();
    let mut rest = text.as_str();
    let mut out = String::new();
    while let Some(at) = rest.find(r#""elapsed":{"#) {
        let end = at + rest[at..].find('}').unwrap();
        out.push_str(&rest[..at]);
        rest = &rest[end..];
    }
    out + rest
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "ab", "needle", "Needle", " ", ":", "\u{e9}", "needles needle"])
            .prop_map(|word| word.as_bytes().to_vec()),
        6 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(vec![0xff]),
        1 => Just(b"\n\n".to_vec()),
    ];
    prop::collection::vec(word, 0..120).prop_map(|words| words.concat())
}

prop_compose! {
    fn settings()(
        pattern in prop::sample::select(vec![
            "needle", "^a", "b$", "(?i)needle", "a|b", "", "^$", r"\bab\b", "n.*e", "[^x]", "x", r"\w+", r"b*", "\u{e9}",
        ]),
        show in prop::sample::select(vec![
            Show::Lines, Show::Lines, Show::Lines, Show::Lines, Show::Json, Show::Count, Show::CountMatches,
            Show::PathsWith, Show::PathsWithout,
        ]),
        flags in prop::collection::vec(prop::bool::weighted(0.25), 16),
        (before, after) in prop_oneof![2 => Just((0, 0)), 3 => (0usize..4, 0usize..4)],
        limit in prop_oneof![3 => Just(None), 2 => (1u64..6).prop_map(Some)],
        boundary in prop_oneof![
            4 => Just(None), 1 => Just(Some(Boundary::Word)), 1 => Just(Some(Boundary::Line))
        ],
        columns in prop_oneof![6 => Just(None), 1 => (1u64..12).prop_map(Some)],
        replace in prop_oneof![6 => Just(None), 1 => Just(Some(b"<$0>".to_vec()))],
    ) -> Settings {
        let flag = |index: usize| flags[index];
        Settings {
            patterns: vec![pattern.into()],
            show,
            boundary,
            before_context: before,
            after_context: after,
            max_count: limit,
            invert_match: flag(0),
            line_number: flag(1) || flag(2),
            column: flag(3),
            byte_offset: flag(4),
            only_matching: flag(5),
            passthru: flag(6) && flag(7) ,
            crlf: flag(8),
            color: flag(9),
            heading: flag(10),
            with_filename: flag(11) || flag(12),
            trim: flag(13),
            vimgrep: flag(14) && flag(13),
            quiet: flag(15) && flag(14),
            include_zero: flag(12),
            path_terminator: (flag(10) && flag(12)).then_some(0),
            max_columns: columns,
            max_columns_preview: flag(7),
            replace,
            stats: flag(2) && flag(3),
            ..Settings::default()
        }
    }
}

fn arrivals() -> impl Strategy<Value = (ReadMode, bool)> {
    prop::sample::select(vec![
        (ReadMode::Mapped, true),
        (ReadMode::Mapped, false),
        (ReadMode::Streamed, true),
        (ReadMode::Streamed, false),
    ])
}

fn same(
    settings: Settings,
    (read_mode, named): (ReadMode, bool),
    text: &[u8],
    request: usize,
    workers: usize,
) -> Result<(), TestCaseError> {
    let query = Query::new(settings).unwrap();
    if !query.settings().possible()
        || query.whole_file_reason(query.source_info(read_mode, named, text)).is_some()
    {
        return Ok(());
    }
    let (expected, result) = whole(&query, read_mode, named, text);
    let (found, parts_result) = in_parts(&query, read_mode, named, text, request, workers);
    let (seen, limit) = (String::from_utf8_lossy(text), query.settings().max_count);
    let (found, expected) = (timeless(&found), timeless(&expected));
    prop_assert_eq!(found, expected, "{:?} by {} {:?} of {:?}", seen, request, limit, read_mode);
    prop_assert_eq!(parts_result.matched, result.matched);
    match (&parts_result.stats, &result.stats) {
        (Some(parts), Some(whole)) if query.settings().stats => {
            let all = |stats: &fullbore_grep::grep_printer::Stats| {
                (
                    stats.matches(),
                    stats.matched_lines(),
                    stats.searches_with_match(),
                    stats.bytes_printed(),
                    // The position where ripgrep stops at a NUL depends on its read sizes.
                    if text.contains(&0) { 0 } else { stats.bytes_searched() },
                )
            };
            prop_assert_eq!(all(parts), all(whole));
        }
        _ => {}
    }
    Ok(())
}

#[test]
fn output_that_takes_much_memory_is_printed_by_a_search_of_the_whole() {
    let text = ["short needle\n".repeat(1000), "needle ".repeat(2000) + "\n"].concat();
    for arrival in [(ReadMode::Mapped, true), (ReadMode::Streamed, false)] {
        let patterns = vec!["needle".into()];
        let settings = Settings { patterns, vimgrep: true, with_filename: true, ..Settings::default() };
        same(settings, arrival, text.as_bytes(), 1000, 2).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_do_not_affect_results(
        settings in settings(), read_mode in arrivals(), text in texts(), request in 1usize..200, workers in 1usize..9,
    ) {
        same(settings, read_mode, &text, request, workers)?;
    }

    #[test]
    fn cuts_do_not_affect_results_with_nuls(
        settings in settings(), read_mode in arrivals(), text in texts(), nuls in prop::collection::vec(0usize..400, 1..3),
        nul_mode in prop::sample::select(vec![Nuls::Auto, Nuls::Suppress, Nuls::Text]), request in 1usize..200,
    ) {
        let mut text = text;
        for nul in nuls.into_iter().filter(|&nul| nul < text.len()).collect::<Vec<_>>() {
            text[nul] = 0;
        }
        same(Settings { nuls: nul_mode, ..settings }, read_mode, &text, request, 2)?;
    }
}
