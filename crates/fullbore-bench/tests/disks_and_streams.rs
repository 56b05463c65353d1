//! The experiments over several directories and streams run unchanged, and report unsupported cells.

mod measuring;

use fullbore::lock::Mutex;
use fullbore_bench::Options;
use fullbore_bench::document::{Cell, Document};
use fullbore_bench::experiment::built_in;
use fullbore_testkit::runs_all;
use measuring::{document, experiment, on_disk, options, sampled, until, was_measured};

/// Measures alone: what another test transfers looks like a limit of the device, whose credit is then spent before each
/// sample.
fn measure(directories: usize, text: &str, seconds: u64) -> Document {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let places: Vec<_> = (0..directories).map(|_| on_disk()).collect();
    let directories: Vec<_> = places.iter().map(|place| place.path().to_owned()).collect();
    let options = |seconds| options(places[0].path(), text, 32, seconds);
    let measure = |seconds| document(&Options { directories: directories.clone(), ..options(seconds) });
    let document = until([seconds, 2 * seconds, 4 * seconds], measure, |document| sampled(document, 1));
    for place in places {
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "files were left behind");
    }
    document
}

/// True if measured; false if refused for a reason that this machine may have, such as no io_uring.
fn measured(cell: &Cell) -> bool {
    was_measured(cell, |reason| !reason.contains("--dir"))
}

#[test]
fn missing_directories_are_reported() {
    // A device that has just spent its credit on another program takes longer than the usual 5 to 20 s.
    let directories = if runs_all("missing_directories_are_reported: two disks") { 2 } else { 1 };
    let document = measure(directories as usize, built_in("devices").unwrap().text, 60);
    let mut missing = 0;
    for cell in &document.cells {
        let labels = &cell.labels;
        let variant = labels.variant.as_deref().unwrap();
        let alone = variant.strip_prefix("disk ").and_then(|rest| rest.strip_suffix(" alone"));
        let last = alone.map_or(labels.targets.unwrap(), |number| number.parse().unwrap());
        if last > directories {
            let reason = cell.skipped.as_deref().unwrap();
            assert!(reason.contains("name more directories with --dir"), "{reason}");
            missing += 1;
        } else if measured(cell) {
            for sample in &cell.samples {
                let disks = if variant == "striped" { 0 } else { labels.targets.unwrap() as usize };
                assert_eq!(sample.streams.len(), disks, "{}", cell.id);
                assert!(sample.usable(), "{}: {:?}", cell.id, sample.proof);
            }
        }
    }
    assert_eq!(missing, 4 * (4 - directories), "numbers of disks together and disks alone, read and written");
    for found in &document.findings.saturation {
        assert!(found.steps.iter().all(|step| step.expected.is_some()), "{found:?}");
    }
}

#[test]
fn streams_run_at_once_and_each_has_a_rate() {
    let document = measure(1, built_in("streams").unwrap().text, 30);
    for cell in document.cells.iter().filter(|cell| measured(cell)) {
        let streams = cell.labels.streams.unwrap() as usize;
        for sample in &cell.samples {
            assert_eq!(sample.streams.len(), streams, "{}", cell.id);
            // Every stream runs within the time of all.
            let most = sample.streams.iter().sum::<f64>();
            assert!(most * 1.001 >= sample.rate(), "{}: {most} {}", cell.id, sample.rate());
        }
    }
}

#[test]
fn own_files_chosen_disks_and_flushed_stripes() {
    if !runs_all("own_files_chosen_disks_and_flushed_stripes") {
        return;
    }
    let text = "
        [[experiment.grid]]
        action = 'streams'
        streams = 3
        files = 'own'
        cache = ['warm', 'cold']
        [[experiment.grid]]
        action = 'devices'
        strategy = 'method=buffered,request=64K'
        direction = ['read', 'write']
        mode = ['together', 'striped']
        targets = ['1+3']
        [[experiment.grid]]
        action = 'devices'
        strategy = 'method=mmap,request=64K'
        mode = 'striped'
        targets = 2
    ";
    let document = measure(3, &experiment(text), 30);
    assert_eq!(document.cells.len(), 7);
    let (mapped, others) = document.cells.split_last().unwrap();
    let reason = mapped.skipped.as_deref().unwrap();
    assert!(reason.contains("mmap") && mapped.samples.is_empty(), "{reason}");
    for cell in others {
        assert!(cell.skipped.is_none() && !cell.samples.is_empty(), "{}: {:?}", cell.id, cell.skipped);
        let wanted = if cell.labels.streams.is_some() { "own files" } else { "disks 1+3" };
        assert!(cell.labels.variant.as_deref().unwrap().starts_with(wanted));
        assert!(cell.summary.is_some(), "{}: {:?}", cell.id, cell.samples);
    }
}
