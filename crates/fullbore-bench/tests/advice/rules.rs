//! The paper's ten rules, each still true, no longer true and not testable.

use fullbore_bench::advice::rules;
use fullbore_bench::document::CacheState::Cold;
use fullbore_bench::document::{Cell, Findings, Labels, RuleVerdict};

use super::room::{K, M, Room, Spread, deep, read, variant, write};

/// A rule's number, and the function that adds cells with a given ratio.
type RuleCase = (u8, fn(&mut Room, f64));

fn disks(count: u32) -> Labels {
    Labels { targets: Some(count), ..read("direct", 64 * K, Cold) }
}

const RULES: &[RuleCase] = &[
    (1, |room, ratio| {
        room.each([(4 * K, 100.0), (64 * K, 100.0 * ratio)], |size| read("direct", size, Cold));
    }),
    (2, |room, ratio| {
        room.costing(read("direct", 4 * K, Cold), 100.0, 1.0 * ratio);
        room.add(read("direct", 64 * K, Cold), 100.0);
    }),
    (3, |room, ratio| {
        room.each([(2, 100.0), (8, 100.0 * ratio)], |depth| deep(4 * K, depth));
    }),
    (4, |room, ratio| {
        let caches = [("write cache off", 100.0), ("write cache on", 100.0 * ratio)];
        room.each(caches, |cache| variant(write("direct", 4 * K, "overwritten"), cache));
    }),
    (5, |room, ratio| {
        // Here a ratio above 1 contradicts the rule: the fourth disk helped.
        room.each([(1, 100.0), (3, 300.0), (4, 300.0 / ratio.powi(2))], disks);
    }),
    (6, |room, ratio| {
        for size in [4 * K, 16 * K] {
            room.each([("buffered", 100.0 * ratio), ("direct", 100.0)], |method| read(method, size, Cold));
        }
    }),
    (7, |room, ratio| {
        for size in [64 * K, M] {
            room.each([("buffered", 100.0), ("direct", 100.0 * ratio)], |method| read(method, size, Cold));
        }
    }),
    (8, |room, ratio| {
        let states = [("extended", 100.0), ("preallocated", 100.0 * ratio)];
        room.each(states, |state| write("buffered", 64 * K, state));
    }),
    (9, |room, ratio| {
        let states = [("extended", 100.0), ("overwritten", 100.0 * ratio)];
        room.each(states, |state| write("direct", 64 * K, state));
    }),
    (10, |room, ratio| {
        room.each([(0, 100.0 * ratio), (512, 100.0)], |offset| Labels {
            offset_bytes: Some(offset),
            ..read("direct", 64 * K, Cold)
        });
    }),
];

#[test]
fn each_rule_has_each_verdict() {
    let verdict = |number: u8, cells: &[Cell]| {
        let tested = rules(cells, &Findings::default());
        let numbers: Vec<u8> = tested.iter().map(|r| r.number).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<u8>>());
        let rule = tested.into_iter().find(|r| r.number == number).unwrap();
        assert!(rule.evidence.ends_with('.') && rule.rule.ends_with('.'), "{rule:?}");
        rule
    };
    for &(number, build) in RULES {
        let rule = |spread, ratio| {
            let mut room = Room::new(spread);
            build(&mut room, ratio);
            verdict(number, &room.cells)
        };
        let held = rule(Spread::Apart, 2.0);
        assert_eq!(held.verdict, RuleVerdict::StillTrue, "{held:?}");
        assert!(held.cells.len() >= 2 && held.experiment == "mine", "{held:?}");
        let figure = if number == 5 { "0.250×" } else { "2.00×" };
        assert!(held.evidence.contains(figure), "{held:?}");
        for ratio in [1.0, 0.5] {
            let failed = rule(Spread::Apart, ratio);
            let expected = match (number, ratio) {
                // A fourth disk as fast as three supports the rule.
                (5, 1.0) => RuleVerdict::StillTrue,
                _ => RuleVerdict::NoLongerTrue,
            };
            assert_eq!(failed.verdict, expected, "{failed:?}");
        }
        let missing = verdict(number, &[]);
        assert_eq!((missing.verdict, missing.cells.len()), (RuleVerdict::NotTestable, 0), "{missing:?}");
        let wide = rule(Spread::Alike, 2.0);
        assert_eq!(wide.verdict, RuleVerdict::NotTestable, "{wide:?}");
        assert!(wide.evidence.contains("too wide"), "{wide:?}");
    }
}

#[test]
fn the_write_cache_rule_has_two_halves() {
    let with = |three_deep: f64| {
        let mut room = Room::new(Spread::Apart);
        for size in [4 * K, 64 * K] {
            for (on, depth, rate) in [("off", 1, 100.0), ("on", 1, 300.0), ("off", 3, three_deep)] {
                let labels = variant(write("direct", size, "overwritten"), &format!("write cache {on}"));
                room.add(Labels { depth: Some(depth), ..labels }, rate);
            }
        }
        rules(&room.cells, &Findings::default()).swap_remove(3)
    };
    assert_eq!(with(290.0).verdict, RuleVerdict::StillTrue);
    let far = with(150.0);
    assert_eq!(far.verdict, RuleVerdict::NoLongerTrue);
    assert!(far.evidence.contains("depth 3 without ÷ depth 1 with write cache: 0.500×"), "{far:?}");
}

#[test]
fn the_majority_of_paths_decides_and_the_others_are_named() {
    let mut room = Room::new(Spread::Apart);
    for (method, large) in [("direct", 400.0), ("buffered", 200.0), ("stdio", 100.0)] {
        room.add(read(method, 4 * K, Cold), 100.0);
        room.add(read(method, M, Cold), large);
    }
    let first = rules(&room.cells, &Findings::default()).swap_remove(0);
    assert_eq!(first.verdict, RuleVerdict::StillTrue);
    assert!(
        first.evidence.contains("yes in 2 of 3")
            && first.evidence.contains("no in 1 (sequential reads from the device with stdio"),
        "{first:?}"
    );
}

#[test]
fn helpful_third_disk_does_not_decide_the_rule() {
    let with = |third: f64| {
        let mut room = Room::new(Spread::Apart);
        room.each([(1, 100.0), (2, 200.0), (3, third)], disks);
        rules(&room.cells, &Findings::default()).swap_remove(4).verdict
    };
    assert_eq!(with(300.0), RuleVerdict::NotTestable);
    assert_eq!(with(200.0), RuleVerdict::StillTrue);
}
