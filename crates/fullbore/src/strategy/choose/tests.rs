//! Tests of the choice.

use fullbore_io::buf::{HUGE_PAGE, Pool};
use fullbore_io::engine::CachePolicy;

use super::*;
use crate::strategy::Unallocated;
use crate::strategy::contender::Contender;
use crate::strategy::plan_input::MOST_WORKERS;
use crate::strategy::{InputState, Model, Planner, ProfileJob, Purpose, Serial, StrategySpec, reads_alike};

fn plan_input() -> PlanInput {
    PlanInput {
        purpose: Purpose::Transform,
        target: Target::New,
        processors: 2,
        ..PlanInput::reading(1 << 30)
    }
}

fn measured(strategy: &Strategy, rate: f64) -> MeasuredStrategy {
    MeasuredStrategy { strategy: strategy.to_string(), rate, low: rate * 0.9, high: rate * 1.1 }
}

fn entry(ranked: Vec<MeasuredStrategy>) -> ProfileEntry {
    ProfileEntry { job: ProfileJob::TransformNew(InputState::Warm), measured: "2026-01-02".into(), ranked }
}

/// Memory is limited by the run, not by the strategy that was measured.
#[test]
fn a_measured_strategy_has_the_memory_of_this_run() {
    let large = Strategy { budget: 64 << 30, workers: 16, ..choose(&plan_input(), None).strategy };
    let entry = entry(vec![measured(&large, 9e9)]);
    assert!(entry.ranked[0].strategy.contains("budget=64G"));
    let chosen = choose(&plan_input(), Some(&entry)).strategy;
    assert_eq!((chosen.workers, chosen.budget), (16, plan_input().budget));
}

/// Some systems do not report what is cached.
#[test]
fn a_long_run_without_known_residency_tries_deep_direct_reads() {
    let unknown = PlanInput {
        cached: None,
        adapts: true,
        purpose: Purpose::Fold,
        target: Target::Nowhere,
        ..plan_input()
    };
    let deep = |input: &PlanInput| {
        let Contenders { cached, uncached } = choose(input, None).contenders;
        let deep = |one: &Contender| {
            let strategy = &one.strategy;
            (strategy.read.name, strategy.read_cache) == (deep_method().name, CachePolicy::Direct)
                && strategy.depth > 1
        };
        cached.iter().chain(&uncached).filter(|one| deep(one)).count()
    };
    assert_eq!(deep(&unknown), 2, "with one worker and with all");
    assert_eq!(deep(&PlanInput { no_deep_reads: Some("forbidden".into()), ..unknown }), 0);
}

#[test]
fn facts_decide_without_measurements() {
    let warm = choose(&plan_input(), None).strategy;
    assert_eq!((warm.read.name, warm.workers, warm.allocation), ("buffered", 2, Allocation::Fallocate));
    let cold = choose(&PlanInput { cached: Some(0.0), ..plan_input() }, None).strategy;
    assert_eq!(
        (cold.read.name, cold.read_cache, cold.write_cache),
        (deep_method().name, CachePolicy::Direct, CachePolicy::Keep)
    );
    let forbidden = PlanInput { cached: Some(0.0), no_deep_reads: Some("seccomp".into()), ..plan_input() };
    let decision = choose(&forbidden, None);
    assert_eq!(decision.strategy.read.name, "buffered");
    assert!(decision.alternatives.iter().any(|other| other.reason == Reason::Unsupported("seccomp".into())));
    let short = PlanInput { cached: Some(0.0), len: Some(100 << 20), ..plan_input() };
    assert_eq!(choose(&short, None).strategy.workers, 1, "writers wait for one another");
    let reading = |len| choose(&PlanInput { target: Target::Nowhere, len: Some(len), ..short.clone() }, None);
    for (len, request) in [(8 << 20, 256 << 10), (16 << 20, 1 << 20), (100 << 20, 1 << 20)] {
        let read = reading(len).strategy;
        assert_eq!((read.read.name, read.request, read.workers), (deep_method().name, request, 2));
        assert!(len / read.stripe >= 2 * read.workers as u64, "{len}: stripes of {}", read.stripe);
    }
    let read = reading(8 << 20).strategy;
    assert!(read.depth * Pool::capacity(read.request) <= HUGE_PAGE, "{} requests", read.depth);
    let disk = PlanInput { cached: Some(0.0), rotational: true, ..plan_input() };
    assert_eq!(choose(&disk, None).strategy.workers, 1);
    let small = PlanInput { len: Some(1000), ..plan_input() };
    assert_eq!(choose(&small, None).strategy.workers, 1);
    for kind in [Unallocated::InMemory, Unallocated::Compressed] {
        let target = PlanInput { unallocated: Some(kind), ..plan_input() };
        assert_eq!(choose(&target, None).strategy.allocation, Allocation::Size);
    }
}

/// The meter can measure methods that only some runs, or none, can use.
#[test]
fn a_profile_chooses_no_method_that_the_run_cannot_use() {
    let fast = |read: &str| {
        let strategy = StrategySpec { read: method(read), write: method(read), ..StrategySpec::default() };
        measured(&strategy.apply(Strategy::plain()), 1e12)
    };
    for (purpose, name, chosen) in [
        (Purpose::Fold, "null", false),
        (Purpose::Fold, "copy_file_range", false),
        (Purpose::Copy, "copy_file_range", true),
    ] {
        if method(name).is_none() {
            continue;
        }
        let entry = entry(vec![fast(name)]);
        let found = choose(&PlanInput { purpose, ..plan_input() }, Some(&entry)).strategy;
        assert_eq!(found.read.name == name, chosen, "{purpose:?} {name}");
    }
}

#[test]
fn the_evidence_has_the_number_of_workers_that_run() {
    let eight = PlanInput { processors: 8, ..plan_input() };
    let serial = |serial: Serial| PlanInput { serial: Some(serial), ..eight.clone() };
    for (plan_input, workers) in [
        (eight.clone(), 8),
        (PlanInput { processors: 64, ..eight.clone() }, MOST_WORKERS),
        (PlanInput { processors: 1, ..eight.clone() }, 1),
        (PlanInput { purpose: Purpose::Hash, target: Target::Nowhere, ..eight.clone() }, 8),
        (PlanInput { cached: Some(0.3), ..eight.clone() }, 8),
        (PlanInput { len: None, ..eight.clone() }, 2),
        (PlanInput { len: None, processors: 1, ..eight.clone() }, 1),
        (serial(Serial::EachStepNeedsTheLast), 1),
        (PlanInput { len: None, ..serial(Serial::EachStepNeedsTheLast) }, 1),
        (PlanInput { cached: Some(0.3), ..serial(Serial::OthersAreBusy) }, 1),
    ] {
        let Decision { strategy, evidence, .. } = choose(&plan_input, None);
        assert_eq!(strategy.workers, workers, "{plan_input:?}");
        assert_eq!(strategy.model, if workers > 1 { Model::Pool } else { Model::Serial });
        let of_workers = |evidence: &&Evidence| {
            matches!(evidence, Evidence::Workers { .. } | Evidence::Turns { .. } | Evidence::Serial(_))
        };
        let of_workers: Vec<_> = evidence.iter().filter(of_workers).collect();
        let expected = match plan_input.serial {
            Some(serial) => Evidence::Serial(serial),
            None if plan_input.len.is_none() && workers > 1 => Evidence::Turns { workers },
            None => Evidence::Workers { workers, processors: plan_input.processors },
        };
        assert_eq!(of_workers, [&expected], "{plan_input:?}");
    }
}

/// A deep queue for each processor may need more than the budget.
#[test]
fn the_evidence_names_the_memory_that_limits_the_workers() {
    let cold = PlanInput { cached: Some(0.0), processors: 8, target: Target::Nowhere, ..plan_input() };
    let Decision { strategy, evidence, .. } = choose(&cold, None);
    assert!(strategy.workers < 8 && strategy.memory() <= cold.budget, "{strategy}");
    let expected = Evidence::Memory { workers: strategy.workers, budget: cold.budget };
    assert!(evidence.contains(&expected), "{evidence:?}");
    assert!(!evidence.iter().any(|one| matches!(one, Evidence::Workers { .. })), "{evidence:?}");
}

#[test]
fn jobs_follow_purpose_length_cache_and_target() {
    let cold = PlanInput { cached: Some(0.0), ..plan_input() };
    assert_eq!(cold.job(), Some(ProfileJob::TransformNew(InputState::Cold)));
    assert_eq!(PlanInput { len: None, ..cold }.job(), None);
    let warm = InputState::Warm;
    for (purpose, target, job) in [
        (Purpose::Read, Target::Nowhere, Some(ProfileJob::Read(warm))),
        (Purpose::Fold, Target::Nowhere, Some(ProfileJob::Scan(warm))),
        (Purpose::Search, Target::Nowhere, Some(ProfileJob::Search(warm))),
        (Purpose::Hash, Target::Nowhere, Some(ProfileJob::Hash(warm))),
        (Purpose::Compare, Target::Nowhere, Some(ProfileJob::Compare(warm))),
        (Purpose::Transform, Target::Existing, Some(ProfileJob::TransformExisting(warm))),
        (Purpose::Transform, Target::New, Some(ProfileJob::TransformNew(warm))),
        (Purpose::Transform, Target::Stream, Some(ProfileJob::Scan(warm))),
        (Purpose::Copy, Target::New, Some(ProfileJob::Copy(warm))),
        (Purpose::Copy, Target::Existing, Some(ProfileJob::Copy(warm))),
        (Purpose::Copy, Target::Stream, Some(ProfileJob::Scan(warm))),
        (Purpose::Generate, Target::New, None),
    ] {
        assert_eq!(PlanInput { purpose, target, ..plan_input() }.job(), job, "{purpose:?} {target:?}");
    }
}

#[test]
fn the_fastest_measured_strategy_is_chosen_unless_noise_decides() {
    let other = Strategy { request: 64 << 10, ..Strategy::plain() };
    let suggested = choose(&plan_input(), None).strategy;
    let decision = |suggested_rate| {
        let ranked = vec![measured(&other, 9e9), measured(&suggested, suggested_rate)];
        choose(&plan_input(), Some(&entry(ranked)))
    };
    let Decision { strategy, evidence, alternatives, .. } = decision(5e9);
    assert_eq!((&strategy, alternatives.len()), (&other, 1));
    assert!(evidence[0].to_string().contains("9.00 GB/s"), "{evidence:?}");
    assert_eq!(decision(8.5e9).strategy, suggested);
}

#[test]
fn halves_of_a_short_file_are_read_in_different_ways() {
    let mixed = PlanInput {
        len: Some(100_000_000),
        cached: Some(0.5),
        can_map: true,
        adapts: true,
        purpose: Purpose::Fold,
        target: Target::Nowhere,
        ..plan_input()
    };
    let halves = |input: &PlanInput| {
        let Contenders { cached, uncached } = choose(input, None).contenders;
        let read = |list: &[Contender]| {
            list.iter().map(|one| (one.strategy.read.name, one.strategy.workers)).collect::<Vec<_>>()
        };
        (read(&cached), read(&uncached))
    };
    assert_eq!(halves(&mixed), (vec![("mmap", 2)], vec![(deep_method().name, 2)]));
    let copy = PlanInput { purpose: Purpose::Copy, target: Target::New, ..mixed.clone() };
    assert_eq!(halves(&copy), (vec![("mmap", 2)], vec![(deep_method().name, 1)]));
    let no_ring = PlanInput { no_deep_reads: Some("forbidden".into()), ..mixed.clone() };
    assert_eq!(halves(&no_ring).1, [("direct", 2)]);
    // Reads through the page cache complete an almost fully cached file.
    assert_eq!(halves(&PlanInput { cached: Some(0.95), ..mixed.clone() }).1, [("buffered", 2)]);
    // A cached file has a short trial, unless it is shorter still.
    let whole = PlanInput { cached: Some(1.0), ..mixed.clone() };
    assert_eq!(halves(&whole), (vec![("mmap", 2), ("buffered", 2)], vec![]));
    for whole in [
        PlanInput { len: Some(30_000_000), ..whole.clone() },
        PlanInput { among_files: true, len: Some(50_000_000), cached: Some(0.5), ..whole.clone() },
        PlanInput { adapts: false, ..whole.clone() },
        PlanInput { cached: Some(0.0), ..mixed.clone() },
        PlanInput { among_files: true, ..mixed.clone() },
        PlanInput { rotational: true, ..mixed.clone() },
    ] {
        assert_eq!(halves(&whole), (vec![], vec![]), "{whole:?}");
    }
}

#[test]
fn a_first_look_at_a_file_leaves_it_uncached() {
    let state = |len: u64, cached: f64| PlanInput { len: Some(len), cached: Some(cached), ..plan_input() };
    for uncached in [state(100_000_000, 0.04), state(1 << 30, 0.015), state(90 << 20, 0.08)] {
        assert!(uncached.is_uncached(), "{uncached:?}");
    }
    for cached in [state(100_000_000, 0.09), state(1 << 30, 0.03), state(16 << 20, 0.3)] {
        assert!(!cached.is_uncached(), "{cached:?}");
    }
}

#[test]
fn cached_input_is_mapped_if_every_byte_is_used_once() {
    let mut spread = plan_input();
    (spread.target, spread.processors) = (Target::Nowhere, 4);
    for purpose in [Purpose::Compare, Purpose::Fold, Purpose::Hash, Purpose::Read, Purpose::Search] {
        let input = PlanInput { purpose, ..spread.clone() };
        let name = |input: &PlanInput| choose(input, None).strategy.read.name;
        assert_eq!(name(&input) == "mmap", purpose.views());
        for otherwise in [
            PlanInput { cached: Some(0.97), ..input.clone() },
            PlanInput { can_map: false, ..input.clone() },
            PlanInput { serial: Some(Serial::EachStepNeedsTheLast), ..input.clone() },
            PlanInput { len: Some(1 << 20), ..input.clone() },
        ] {
            assert_eq!(name(&otherwise), "buffered");
        }
    }
    let narrow = PlanInput { purpose: Purpose::Compare, budget: 8 << 20, ..spread };
    let strategy = choose(&narrow, None).strategy;
    assert!(strategy.memory() <= 8 << 20, "{strategy}");
}

/// Among files each has a stripe of its own: contenders that differ in the stripe alone are one.
#[test]
fn contenders_for_many_files_do_not_read_alike() {
    let spec = StrategySpec::default();
    let among = PlanInput {
        purpose: Purpose::Hash,
        processors: 2,
        len: Some(40 << 20),
        cached: Some(1.0),
        adapts: true,
        among_files: true,
        ..plan_input()
    };
    let plan = Planner::new(&spec).among_files(true).decide(among, None, None).unwrap();
    let all = &plan.contenders.cached;
    assert!(all.len() > 1, "{all:?}");
    for (place, one) in all.iter().enumerate() {
        let alike = all[..place].iter().find(|other| reads_alike(&one.strategy, &other.strategy));
        assert!(alike.is_none(), "{one:?} {alike:?}");
    }
}
