//! Tests of plans.

use super::*;
use crate::strategy::{FileSystem, InputState, MeasuredStrategy, Profile, ProfileEntry, ProfileJob};

/// A file of `len` bytes of which this share is in the page cache, counted by two workers.
fn counted(len: u64, cached: f64) -> PlanInput {
    PlanInput {
        purpose: Purpose::Fold,
        cached: Some(cached),
        processors: 2,
        adapts: true,
        ..PlanInput::reading(len)
    }
}

#[test]
fn parts_that_are_too_short_for_a_trial_try_nothing() {
    let spec = StrategySpec::default();
    let explained = |len: u64, cached: f64| {
        Planner::new(&spec).decide(counted(len << 20, cached), None, None).unwrap().to_string()
    };
    let short = explained(300, 0.5);
    assert!(short.contains("cached parts: ") && short.contains("other parts: "), "{short}");
    assert!(!short.contains("tries"), "{short}");
    let long = explained(2048, 0.5);
    assert!(long.contains("cached parts: tries ") && long.contains("other parts: tries "), "{long}");
    let mostly = explained(400, 0.8);
    assert!(mostly.contains("cached parts: tries ") && !mostly.contains("other parts: tries "), "{mostly}");
}

#[test]
fn the_parts_of_a_partly_cached_file_have_one_list_if_their_order_matters() {
    let spec = StrategySpec::default();
    let planner = Planner::new(&spec).in_file_order(true);
    for cached in [0.3, 0.5, 0.8] {
        let plan = planner.decide(counted(1 << 30, cached), None, None).unwrap();
        let Contenders { cached, uncached } = &plan.contenders;
        assert!(cached.is_empty() && uncached.len() > 1, "{plan}");
        assert!(reads_alike(&uncached[0].strategy, &plan.strategy), "{plan}");
        assert!(plan.to_string().contains("strategy: method=buffered"), "{plan}");
    }
    for (len, cached) in [(100 << 20, 0.5), (1 << 30, 0.95)] {
        let plan = planner.decide(counted(len, cached), None, None).unwrap();
        assert!(!plan.contenders.differ() && plan.strategy.read == buffered(), "{plan}");
    }
    // Files in one state have the contenders of other folds.
    for cached in [0.0, 1.0] {
        let plan = |planner: Planner<'_>| planner.decide(counted(1 << 30, cached), None, None).unwrap();
        let (ordered, any) = (plan(planner), plan(Planner::new(&spec)));
        assert!(ordered.contenders.differ() && ordered.contenders == any.contenders, "{ordered}");
    }
}

#[test]
fn a_contender_that_is_tried_on_a_whole_file_has_no_reasons_of_another_choice() {
    let spec = StrategySpec::default();
    let among = PlanInput { among_files: true, ..counted(20 << 20, 1.0) };
    let mut plan = Planner::new(&spec).among_files(true).decide(among, None, None).unwrap();
    assert!(plan.to_string().contains("not buffered: "), "{plan}");
    let copies = plan.contenders.cached.iter().find(|one| one.strategy.read == buffered());
    let copies = copies.unwrap().strategy.clone();
    plan.try_one(copies);
    assert!(!plan.to_string().contains("\nnot "), "{plan}");
}

#[test]
fn mappings_of_the_same_length_are_one_contender() {
    let spec: StrategySpec = "auto,method=mmap".parse().unwrap();
    let plan = Planner::new(&spec).decide(counted(1 << 30, 1.0), None, None).unwrap();
    assert_eq!(plan.contenders.cached.len(), 1, "{plan}");
}

/// The meter uses the blocks of a mapping in place; for the operations of a program each is copied.
#[test]
fn a_measured_mapping_is_not_chosen_for_operations_of_a_program() {
    let (_directory, path) = fullbore_testkit::ground::temporary_file(vec![b'\n'; 4 << 20]);
    let input = File::open(&path).unwrap();
    let Ok(file_system) = key(&input) else { return println!("skipped: the file system has no identity") };
    let measured =
        |strategy: &str, rate| MeasuredStrategy { strategy: strategy.into(), rate, low: rate, high: rate };
    let ranked = vec![measured("method=mmap,request=1M", 9e9), measured("method=buffered,request=128K", 8e9)];
    let job = ProfileJob::Scan(InputState::Warm);
    let entries = vec![ProfileEntry { job, measured: "2026-01-02".into(), ranked }];
    let system = FileSystem { directory: "/".into(), entries };
    let file_systems = [(file_system, system)].into();
    let profile = LazyProfile::new(Box::new(|| Profile { file_systems, ..Profile::default() }));
    let spec = StrategySpec::default();
    let chosen = |memory: BlockMemory| {
        let planner = Planner::new(&spec).with_profile(Some(&profile)).in_memory(memory);
        let facts = PlanInput { can_map: memory.may_be_mapping(), ..counted(4 << 20, 1.0) };
        let strategy = planner.decide(facts, Some(&input), None).unwrap().strategy;
        (strategy.read.name, strategy.request)
    };
    assert_eq!(chosen(BlockMemory::REVIEWED).0, "mmap");
    assert_eq!(chosen(BlockMemory::BUFFER), ("buffered", 128 << 10));
}

#[cfg(target_os = "linux")]
#[test]
fn a_comparison_of_files_on_two_file_systems_teaches_nothing() {
    let local = tempfile::tempdir_in(fullbore_testkit::ground::build_directory()).unwrap();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return println!("skipped: no /dev/shm") };
    let [left, right, other] =
        [(&local, "left"), (&local, "right"), (&memory, "other")].map(|(place, name)| {
            let path = place.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(ADAPTIVE).unwrap();
            File::open(&path).unwrap()
        });
    let spec = StrategySpec::default();
    let learned = Some(Learned::default());
    let profile = LazyProfile::new(Box::new(|| Profile { learned, ..Profile::default() }));
    let learned = |right: &File| {
        let planner = Planner::new(&spec).with_profile(Some(&profile));
        let [left, _] = planner.plan_pair([&left, right], [&spec; 2]).unwrap();
        left.selections.are_learned()
    };
    if !learned(&right) || key(&left).ok() == key(&other).ok() {
        return println!("skipped: one file system, or one that has no contenders");
    }
    assert!(!learned(&other));
}

/// Each side has half of the memory, also after it got the longer requests of the other.
#[test]
fn a_pair_of_plans_keeps_the_memory() {
    let directory = tempfile::tempdir_in(fullbore_testkit::ground::build_directory()).unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    let file = File::open(&path).unwrap();
    let budget = 8 << 20;
    for strategies in
        [["request=256K,depth=16,workers=2", "request=4M"], ["request=1M", "request=8M,workers=4"]]
    {
        let specs = strategies.map(|text| text.parse::<StrategySpec>().unwrap());
        let spec = StrategySpec { budget: Some(budget), ..StrategySpec::default() };
        let plans = Planner::new(&spec).plan_pair([&file, &file], [&specs[0], &specs[1]]).unwrap();
        let [left, right] = plans.map(|plan| plan.strategy);
        assert!(left.memory() + right.memory() <= budget, "{left} and {right}");
        assert_eq!((left.request, left.workers), (right.request, right.workers));
    }
}
