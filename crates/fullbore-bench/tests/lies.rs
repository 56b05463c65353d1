//! Causes of wrong figures are detected: a page cache that holds part of a cold file, files whose bytes no device holds,
//! a file system that compresses.
// Loop devices, and the kernel's account of the page cache.
#![cfg(target_os = "linux")]

#[path = "ground_truth/disk.rs"]
mod disk;
mod measuring;

use std::fs;
use std::path::Path;
use std::time::Duration;

use disk::{Disk, DiskImage, EXT4};
use fullbore::file::File;
use fullbore::probe;
use fullbore_bench::Options;
use fullbore_bench::document::{CacheState, Cell, Document, Proof, Warning};
use fullbore_testkit::ground::bytes;
use fullbore_testkit::{meanwhile, or_skip};
use measuring::{document, experiment, on_disk, options, sampled, until};

fn measure(directory: &Path, grid: &str, seconds: u64, precision: f64) -> Document {
    let toml = experiment(&format!("[[experiment.grid]]\naction = 'read'\n{grid}"));
    document(&Options { precision, ..options(directory, toml, 32, seconds) })
}

fn cached(cell: &Cell) -> impl Iterator<Item = (f64, &Proof)> {
    cell.samples.iter().map(|sample| {
        let share = sample.cached_before_bytes.unwrap() as f64 / sample.cache_total_bytes.unwrap() as f64;
        (share, &sample.proof)
    })
}

#[test]
fn a_file_half_in_the_cache_is_labelled_mixed() {
    let directory = on_disk();
    let grid =
        "strategy = 'method=buffered,request=256K,workers=1,model=serial'\ncache = ['mixed', 'warm', 'cold']";
    let measure = |seconds| measure(directory.path(), grid, seconds, 0.5);
    let document = until([20, 60, 120], measure, |document| sampled(document, 2));
    for cell in &document.cells {
        let wanted = match cell.labels.cache.unwrap() {
            CacheState::Mixed => 0.3..0.9,
            CacheState::Warm => 0.99..1.01,
            CacheState::Cold => 0.0..0.01,
        };
        assert!(cell.samples.len() >= 2, "{}: {:?}", cell.id, cell.skipped);
        // The kernel may reclaim pages at any time: such a sample is contradicted, and rare.
        let (prepared, not): (Vec<_>, Vec<_>) = cached(cell).partition(|(share, _)| wanted.contains(share));
        assert!(prepared.len() > not.len(), "{}: {not:?}", cell.id);
        assert!(
            not.iter().all(|(_, proof)| matches!(proof, Proof::Contradicted { .. })),
            "{}: {not:?}",
            cell.id
        );
        let sound = prepared.iter().filter(|(_, proof)| !matches!(proof, Proof::Contradicted { .. })).count();
        assert!(2 * sound > prepared.len(), "{}: {prepared:?}", cell.id);
    }
}

#[test]
fn externally_filled_cache_is_detected() {
    let directory = on_disk();
    // Another thread reads the file that should be cold.
    let read = |_| {
        for test_files in fs::read_dir(directory.path()).into_iter().flatten().flatten() {
            let _ = fs::read(test_files.path().join("cold"));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    // The reader affects some of many samples, on a busy machine of more.
    let (document, caught) = meanwhile(read, || {
        let grid = "strategy = 'method=buffered,request=64K,workers=1,model=serial'\ncache = 'cold'";
        let measure = |seconds| {
            let document = measure(directory.path(), grid, seconds, 0.0);
            let mut caught = 0;
            for (share, proof) in document.cells.iter().flat_map(cached) {
                match proof {
                    Proof::Contradicted { reason } => {
                        assert!(
                            reason.contains("page cache") || reason.contains("the device read"),
                            "{reason}"
                        );
                        caught += 1;
                    }
                    _ => assert!(share <= 0.01, "undetected: {share} of it was cached"),
                }
            }
            (document, caught)
        };
        until([8, 30, 90], measure, |(_, caught)| *caught > 0)
    });
    let [cell] = document.cells.as_slice() else { panic!("one cell") };
    let usable = cell.samples.iter().filter(|sample| sample.usable()).count();
    assert_eq!(cell.samples.len() - usable, caught);
    match &cell.summary {
        Some(summary) => {
            // Samples at the start may be warm-up, or short: they are excluded, and the summary reports it.
            let excluded = summary.warm_up.map_or(0, |warm| warm.left_out()) + summary.short;
            let own = cell.samples.iter().filter(|s| s.usable() && s.regime == summary.regime).count();
            assert_eq!((summary.n + excluded, summary.contradicted), (own, caught));
            assert!(
                summary.flags.iter().any(|flag| matches!(flag, Warning::Contradicted { .. })),
                "{:?}",
                summary.flags
            );
        }
        None => assert_eq!(usable, 0),
    }
}

/// The objection to measuring with a file that `make` creates.
fn measurement_problem(place: &Path, name: &str, make: impl Fn(&File)) -> Option<String> {
    let file = File::create_new(place.join(name)).unwrap();
    make(&file);
    file.sync_all().unwrap();
    probe::provenance(&file).unwrap().measurement_problem()
}

/// A disk with a file system, or the reason why it cannot be made.
fn disk(root: &Path, name: &str, mkfs: &[&str], options: &str) -> Option<Disk> {
    let made = DiskImage { len: 400 << 20, mkfs, options, past_cache: false };
    or_skip(name, Disk::new(root, name, root.join(name), &made))
}

#[test]
fn files_without_device_blocks_are_refused() {
    let root = on_disk();
    let systems: [(&str, &[&str], &str); 3] = [
        ("ext4", EXT4, ""),
        ("xfs", &["mkfs.xfs", "-q"], ""),
        ("btrfs", &["mkfs.btrfs", "-q"], "compress=zstd"),
    ];
    for (name, mkfs, options) in systems {
        let Some(disk) = disk(root.path(), name, mkfs, options) else { continue };
        let compresses = !options.is_empty();
        let against = |what: &str, make: &dyn Fn(&File)| measurement_problem(&disk.place, what, make);
        let honest = against("honest", &|file| file.write_all_at(&bytes(4 << 20, 7), 0).unwrap());
        assert_eq!(honest, None, "{name}");
        let sparse = against("sparse", &|file| {
            file.write_all_at(&bytes(4096, 7), 3 << 20).unwrap();
        });
        assert!(sparse.unwrap().contains("holes"), "{name}");
        let reserved = against("reserved", &|file| {
            file.allocate_and_extend(4 << 20).unwrap();
            file.set_len(4 << 20).unwrap();
        });
        assert!(reserved.unwrap().contains("never written"), "{name}");
        let zeros = against("zeros", &|file| file.write_all_at(&vec![0; 4 << 20], 0).unwrap());
        match zeros {
            Some(objection) => assert!(compresses && objection.contains("compressed"), "{name}: {objection}"),
            None => assert!(!compresses, "{name} does not compress zeros"),
        }
    }
}

#[test]
fn the_meters_own_files_are_not_compressed() {
    let root = on_disk();
    let Some(disk) = disk(root.path(), "btrfs", &["mkfs.btrfs", "-q"], "compress=zstd") else { return };
    let grid = "strategy = 'method=buffered,request=256K,workers=1,model=serial'\ncache = ['cold']";
    let measure = |seconds| measure(&disk.place, grid, seconds, 0.5);
    let document = until([10, 30, 90], measure, |document| sampled(document, 2));
    let [cell] = document.cells.as_slice() else { panic!("one cell") };
    assert!(cell.summary.is_some(), "{:?}", cell.skipped);
    for sample in &cell.samples {
        if let Some(read) = sample.device_read_bytes {
            assert!(
                read as f64 >= 0.9 * sample.bytes as f64,
                "the device read {read} of {} bytes",
                sample.bytes
            );
        }
    }
}
