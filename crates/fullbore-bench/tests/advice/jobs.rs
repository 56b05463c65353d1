//! The strategy to use for each kind of job, and the common defaults compared with it.

use fullbore_bench::advice::recommendations;
use fullbore_bench::document::CacheState::{Cold, Warm};
use fullbore_bench::document::{Advice, Confidence, JobKind, Labels, RateUnit, Recommendation};

use super::room::{K, M, Room, Spread, deep, read, write};

fn found(room: &Room) -> Vec<Recommendation> {
    recommendations(&room.cells)
}

fn of(room: &Room, job: JobKind) -> Recommendation {
    found(room).into_iter().find(|found| found.job == job).unwrap()
}

fn random(labels: Labels) -> Labels {
    Labels { order: Some("random".into()), ..labels }
}

fn files(workers: Option<u32>) -> Labels {
    Labels {
        workers,
        cache: Some(Cold),
        file_bytes: Some(16 * K),
        ..Labels::of("small files", if workers.is_some() { "buffered" } else { "auto" })
    }
}

fn append(state: &str, variant: Option<&str>) -> Labels {
    Labels {
        operation: "append".into(),
        flush: Some(true),
        variant: variant.map(str::to_owned),
        ..write("buffered", 4 * K, state)
    }
}

#[test]
fn of_two_within_five_percent_the_simpler_is_used() {
    let mut room = Room::new(Spread::Apart);
    room.add(read("buffered", M, Cold), 970.0);
    room.add(deep(M, 8), 1000.0);
    let near = of(&room, JobKind::BulkRead);
    assert_eq!(near.method, "buffered, 1 MiB");
    assert_eq!(near.no_difference_from.as_deref(), Some("direct uring, 1 MiB, depth 8"));
    assert_eq!(near.plain.as_deref(), Some("dd if=FILE of=/dev/null bs=1M"));
    room.add(deep(2 * M, 8), 1100.0);
    let far = of(&room, JobKind::BulkRead);
    assert_eq!((far.method.as_str(), far.no_difference_from), ("direct uring, 2 MiB, depth 8", None));
    assert_eq!((far.plain, far.place.as_str()), (None, "from the device"));
    assert!((far.rate.value / 1.1e9 - 1.0).abs() < 0.01 && far.unit == RateUnit::Bytes);
}

#[test]
fn no_command_has_the_strategy_of_an_interface() {
    let mut room = Room::new(Spread::Apart);
    room.add(read("tokio", M, Cold), 900.0);
    room.add(write("compio", M, "overwritten"), 900.0);
    for job in [JobKind::BulkRead, JobKind::BulkWrite] {
        let found = of(&room, job);
        assert_eq!((found.command, found.plain), (None, None), "{}", found.method);
    }
    room.add(read("direct", M, Cold), 1000.0);
    assert_eq!(of(&room, JobKind::BulkRead).command.as_deref(), Some("fullbore sum FILE"));
}

#[test]
fn the_device_comes_before_the_page_cache() {
    let mut room = Room::new(Spread::Apart);
    room.add(read("mmap", M, Warm), 9000.0);
    assert_eq!(of(&room, JobKind::BulkRead).place, "from the page cache");
    room.add(read("direct", M, Cold), 900.0);
    assert_eq!(of(&room, JobKind::BulkRead).place, "from the device");
}

#[test]
fn a_flushed_write_is_not_compared_with_one_that_is_not() {
    let mut room = Room::new(Spread::Apart);
    room.add(write("direct", M, "overwritten"), 3000.0);
    assert_eq!(of(&room, JobKind::BulkWrite).method, "direct, 1 MiB");
    room.add(Labels { flush: Some(true), ..write("buffered", M, "overwritten") }, 200.0);
    let flushed = of(&room, JobKind::BulkWrite);
    assert_eq!(flushed.plain.as_deref(), Some("dd of=FILE bs=1M conv=notrunc,fdatasync"));
    assert!(!room.advice().iter().any(|advice| advice.lead), "{:?}", room.advice());
}

#[test]
fn pages_files_and_records_are_counted() {
    let mut room = Room::new(Spread::Apart);
    room.add(random(read("buffered", 4 * K, Cold)), 40.96);
    room.add(random(deep(4 * K, 32)), 409.6);
    room.add(random(read("buffered", 16 * K, Cold)), 900.0);
    // Smaller requests than pages are measured to compare alignments.
    room.add(random(read("direct", 512, Cold)), 100.0);
    let pages = of(&room, JobKind::RandomReads);
    assert_eq!((pages.unit, pages.method.as_str()), (RateUnit::Requests, "direct uring, 4 KiB, depth 32"));
    assert!((pages.rate.value / 1e5 - 1.0).abs() < 0.01, "{pages:?}");
    let calls = "AsyncFile::read_at with CachePolicy::Direct, 32 reads of 4K in flight";
    assert_eq!((pages.plain.as_deref(), pages.command), (Some(calls), None));
    room.each([(Some(1), 100.0), (Some(2), 196.0), (None, 200.0)], files);
    let small = of(&room, JobKind::SmallFiles);
    assert_eq!(small.command.as_deref(), Some("fullbore wc FILES"));
    room.add(append("extended", None), 1.0);
    room.add(append("overwritten", None), 3.0);
    room.add(append("overwritten", Some("O_DSYNC")), 3.05);
    let log = of(&room, JobKind::Append);
    assert_eq!(log.method, "fdatasync, blocks written in advance");
    assert_eq!(log.no_difference_from.as_deref(), Some("O_DSYNC, blocks written in advance"));
    room.cells.retain(|cell| cell.labels.variant.is_some() || cell.labels.operation != "append");
    assert_eq!(of(&room, JobKind::Append).plain.as_deref(), Some("dd of=LOG bs=4K oflag=dsync conv=notrunc"));
    assert_eq!(found(&room).len(), 3, "a bulk read needs one file in order");
}

#[test]
fn cp_is_used_where_it_is_as_fast() {
    let copy = |method: &str, peer: Option<&str>| Labels {
        cache: Some(Warm),
        file_state: Some("extended".into()),
        peer: peer.map(str::to_owned),
        ..Labels::of("copy", method)
    };
    let mut room = Room::new(Spread::Apart);
    room.add(Labels { workers: Some(2), ..copy("buffered", None) }, 1000.0);
    room.add(copy("command", Some("cp")), 970.0);
    let found = of(&room, JobKind::Copy);
    assert_eq!((found.plain.as_deref(), found.command), (Some("cp FROM TO"), None));
    room.add(Labels { strategy: Some("auto".into()), ..copy("auto", None) }, 2000.0);
    assert_eq!(of(&room, JobKind::Copy).command.as_deref(), Some("fullbore copy FROM TO"));
    let advice = room.advice();
    assert!(
        advice[0].lead && advice[0].text.starts_with("`cp`, from the page cache: use auto"),
        "{advice:?}"
    );
}

#[test]
fn common_defaults_lead_with_their_gain_and_the_command() {
    let mut room = Room::new(Spread::Apart);
    let with = |labels: Labels, strategy: &str| Labels { strategy: Some(strategy.into()), ..labels };
    let rates = [(4 * K, 100.0), (8 * K, 150.0), (256 * K, 500.0)];
    room.each(rates, |size| with(read("buffered", size, Cold), "method=buffered"));
    room.add(with(read("direct", M, Cold), "method=direct,request=1M"), 1000.0);
    room.add(files(Some(1)), 100.0);
    room.add(files(Some(2)), 300.0);
    let advice = room.advice();
    let lead: Vec<_> = advice.iter().filter(|advice| advice.lead).collect();
    let [pages, small, large] = lead.as_slice() else { panic!("{lead:?}") };
    assert!(pages.text.starts_with("Reads of 8 KiB") && (pages.worth - 6.67).abs() < 0.1, "{pages:?}");
    assert!(small.text.contains("use 2 files at a time") && (small.worth - 3.0).abs() < 0.1, "{small:?}");
    assert!(large.text.contains("use direct, 1 MiB") && (large.worth - 2.0).abs() < 0.1, "{large:?}");
    assert_eq!(large.setting.as_deref(), Some("fullbore sum --strategy method=direct,request=1M FILE"));
    // A sweep of request sizes is a detail, whatever its gain.
    assert!(advice.iter().any(|advice| !advice.lead && advice.text.starts_with("Use requests of")));
    room.cells.retain(|cell| cell.labels.method != "direct" && cell.labels.operation == "read");
    assert!(!room.advice().iter().any(|advice| advice.text.starts_with("Large reads")));
}

/// The item of advice that begins with these words.
fn item(room: &Room, begins: &str) -> Advice {
    room.advice().into_iter().find(|advice| advice.text.starts_with(begins)).unwrap()
}

#[test]
fn a_default_is_compared_within_its_experiment_if_that_has_another_cell() {
    let mut room = Room::new(Spread::Apart);
    room.add(read("buffered", 256 * K, Cold), 500.0);
    room.add(read("direct", M, Cold), 800.0);
    room.experiment = "another";
    room.add(deep(4 * M, 8), 1500.0);
    let beside = item(&room, "Large reads");
    assert!(beside.text.contains("use direct, 1 MiB") && beside.confidence != Confidence::Low, "{beside:?}");
    room.cells.remove(1);
    let across = item(&room, "Large reads");
    assert!(across.text.contains("use direct uring, 4 MiB"), "{across:?}");
    assert!(across.confidence == Confidence::Low && !across.lead, "{across:?}");
}

#[test]
fn a_choice_is_compared_within_its_experiment_if_that_has_a_plain_cell() {
    let of_job = |labels: Labels, strategy: &str| Labels {
        job: "read".into(),
        strategy: Some(strategy.into()),
        ..labels
    };
    let plain = of_job(read("buffered", M, Cold), "method=buffered");
    let mut room = Room::new(Spread::Apart);
    room.add(of_job(read("direct", M, Cold), "method=direct"), 1000.0);
    room.add(plain.clone(), 400.0);
    room.experiment = "another";
    room.add(plain, 900.0);
    let beside = item(&room, "For “read");
    assert!((beside.worth - 2.5).abs() < 0.1 && beside.confidence != Confidence::Low, "{beside:?}");
    room.cells.remove(1);
    let across = item(&room, "For “read");
    assert!((across.worth - 1.11).abs() < 0.05 && across.confidence == Confidence::Low, "{across:?}");
}
