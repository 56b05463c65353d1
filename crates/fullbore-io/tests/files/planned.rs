//! Calls other than reads and writes consult the plan first, and fail on a file whose sync failed.

use super::*;

use fullbore_io::error::Error;

fn poisoned(error: &Error) -> bool {
    error.to_string().contains("an earlier sync of this file failed")
}

#[test]
fn a_poisoned_file_refuses_blocks_copies_and_mapped_bytes() {
    everywhere(|directory| {
        let content = bytes(300_000, 1);
        let other = write_file(directory, "other", &content);
        let other = File::open_write(&other).unwrap();
        for (index, cache) in POLICIES.into_iter().enumerate() {
            let path = directory.join(index.to_string());
            fs::write(&path, &content).unwrap();
            let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
            let (file, _) = File::open_write(&path).unwrap().with_faults(&plan).with_cache(cache);
            let mut window = file.map_writable(0..8192).unwrap();
            file.sync_data().unwrap_err();
            let refused: [(&str, Result<()>); 10] = [
                ("punch", file.punch_hole(0..4096)),
                ("zero", file.zero_range(0..4096)),
                ("reserve", file.reserve(0..1 << 20)),
                ("allocate", file.allocate_and_extend(1 << 20)),
                ("clone", other.clone_range(0..4096, &file, 0)),
                ("copy", other.copy_range(0..u64::MAX, &file, 0).map(drop)),
                ("copy within", file.copy_range(0..4096, &file, 8192).map(drop)),
                ("write a mapping", window.write_all_at(b"no", 0)),
                // SAFETY: nothing else uses the mapped bytes.
                ("change a mapping", unsafe { window.with(|bytes| bytes[0] ^= 1) }),
                ("flush a mapping", window.flush()),
            ];
            for (what, result) in refused {
                let error = result.expect_err(what);
                assert!(poisoned(&error), "{cache:?}: {what}: {error}");
            }
            // Reads still work, and nothing has changed.
            assert_eq!(file.copy_range(0..4096, &other, 0).unwrap().bytes(), 4096);
            window.read_exact_at(&mut [0; 100], 0).unwrap();
            assert!(fs::read(&path).unwrap() == content, "{cache:?}");
        }
    });
}

#[test]
fn a_failed_flush_of_a_mapping_poisons_the_file() {
    everywhere(|directory| {
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
        let file = File::create_new(directory.join("file")).unwrap().with_faults(&plan);
        file.set_len(5000).unwrap();
        let mut window = file.map_writable(10..5000).unwrap();
        window.write_all_at(b"bytes", 0).unwrap();
        assert_eq!(window.flush().unwrap_err().kind(), ErrorKind::Io);
        assert!(poisoned(&window.flush().unwrap_err()), "no retry succeeds");
        assert!(poisoned(&file.write_at(b"more", 0).unwrap_err()));
        assert!(poisoned(&file.sync_all().unwrap_err()));
        assert_eq!(plan.counts().failed_syncs, 1);
    });
}

#[test]
fn calls_without_space_change_nothing() {
    everywhere(|directory| {
        let (path, content) = filled(directory, 100_000, 2);
        let other = write_file(directory, "other", bytes(100_000, 3));
        let other = File::open_write(&other).unwrap();
        let plan = Plan::new(1).with(Fault::NoSpace { at: 50_000 });
        let file = File::open_write(&path).unwrap().with_faults(&plan);
        let mut window = file.map_writable(0..100_000).unwrap();
        let refused: [(&str, Result<()>); 6] = [
            ("reserve", file.reserve(40_000..60_000)),
            ("allocate", file.allocate_and_extend(200_000)),
            ("zero", file.zero_range(49_999..50_001)),
            ("copy", other.copy_range(0..50_000, &file, 50_000).map(drop)),
            ("write a mapping", window.write_all_at(&[0; 2], 49_999)),
            ("clone", other.clone_range(49_152..53_248, &file, 49_152)),
        ];
        for (what, result) in refused {
            assert_eq!(result.expect_err(what).kind(), ErrorKind::NoSpace, "{what}");
        }
        assert!(plan.counts().no_space >= 6, "{:?}", plan.counts());
        assert!(fs::read(&path).unwrap() == content);
        // Holes need no space, and calls that fit succeed.
        let punched = made(file.punch_hole(60_000..70_000));
        made(file.reserve(0..50_000));
        window.write_all_at(&[7; 10], 49_990).unwrap();
        // A copy stops at the end of the space; blocks are shared completely or not at all.
        other.copy_range(0..100_000, &file, 0).unwrap_err();
        let found = fs::read(&path).unwrap();
        let copied = found[..50_000] == bytes(100_000, 3)[..50_000];
        assert!(copied || found[..49_990] == content[..49_990] && found[49_990..50_000] == [7; 10]);
        assert!(found[50_000..60_000] == content[50_000..60_000]);
        let hole = if punched { &[0; 10_000] } else { &content[60_000..70_000] };
        assert!(found[60_000..70_000] == *hole && found[70_000..] == content[70_000..]);
    });
}

#[test]
fn the_plan_records_every_call_in_order() {
    everywhere(|directory| {
        let plan = Plan::new(1);
        let file = File::create_new(directory.join("file")).unwrap().with_faults(&plan);
        let mut expected = Vec::new();
        if !made(file.allocate_and_extend(10_000)) {
            file.without_faults().set_len(10_000).unwrap();
        }
        expected.push(Event::Allocated { offset: 0, len: 10_000 });
        made(file.punch_hole(100..5000));
        expected.push(Event::Punched { offset: 100, len: 4900 });
        if let Err(error) = file.zero_range(10..20) {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
        expected.push(Event::Zeroed { offset: 10, len: 10 });
        made(file.reserve(1..4097));
        expected.push(Event::Allocated { offset: 1, len: 4096 });
        let mut window = file.map_writable(4000..9000).unwrap();
        window.write_all_at(b"bytes", 0).unwrap();
        window.flush().unwrap();
        expected.push(Event::SyncedRange { offset: 4000, len: 5000 });
        assert_eq!(plan.events(), expected);
        let transfers = plan.counts().transfers;
        window.read_exact_at(&mut [0; 10], 0).unwrap();
        // SAFETY: nothing else uses the mapped bytes.
        unsafe { window.with(|bytes| bytes[0] = 1) }.unwrap();
        assert_eq!(plan.counts().transfers, transfers + 2);
    });
}

/// Each copy method consults the plan: under shortened and interrupted calls the copy is complete, and I/O errors are
/// returned.
#[test]
fn copies_are_complete_under_every_fault() {
    everywhere(|directory| {
        let content = bytes(2_000_003, 4);
        let from = write_file(directory, "from", &content);
        let to = directory.join("to");
        for cache in [CachePolicy::Keep, CachePolicy::Direct] {
            for (seed, fault) in
                [Fault::Short { one_in: 2 }, Fault::Interrupted { one_in: 2 }].into_iter().enumerate()
            {
                for start in [0, 1] {
                    fs::write(&to, b"").unwrap();
                    let plan = Plan::new(seed as u64).with(fault).with(Fault::Short { one_in: 2 });
                    let source = File::open(&from).unwrap().with_faults(&plan);
                    let (target, _) = File::open_write(&to).unwrap().with_faults(&plan).with_cache(cache);
                    let report = source.copy_range(start..u64::MAX, &target, 0).unwrap();
                    assert_eq!(report.bytes(), 2_000_003 - start, "{fault:?}");
                    assert!(fs::read(&to).unwrap() == content[start as usize..], "{fault:?} {report:?}");
                    assert!(plan.counts().transfers >= 2);
                }
            }
            for offset in [0, 1_000_000] {
                for source_fails in [false, true] {
                    fs::write(&to, b"").unwrap();
                    let failing = Plan::new(1).with(Fault::IoErrorAt { offset });
                    let quiet = Plan::new(1);
                    let plans = if source_fails { [&failing, &quiet] } else { [&quiet, &failing] };
                    let source = File::open(&from).unwrap().with_faults(plans[0]);
                    let (target, _) = File::open_write(&to).unwrap().with_faults(plans[1]).with_cache(cache);
                    let result = source.copy_range(0..u64::MAX, &target, 0);
                    assert_eq!(failing.counts().io_errors, 1, "{cache:?}");
                    match result {
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Io),
                        // The bytes moved before the error are returned first; then the one-time fault is past.
                        Ok(_) => assert!(cache == CachePolicy::Direct && fs::read(&to).unwrap() == content),
                    }
                }
            }
        }
    });
}

#[test]
fn a_method_that_fails_on_one_file_is_tried_on_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let [bad, good] = ["bad", "good"].map(|name| write_file(directory.path(), name, bytes(9000, 1)));
    let bad = File::open(bad).unwrap().with_faults(&Plan::new(1).with(Fault::IoErrorOn { call: 1 }));
    let method = engine::method("vectored").unwrap();
    engine::probe_once(method, &bad, false, CachePolicy::Keep).unwrap_err();
    let good = File::open(good).unwrap();
    assert_eq!(engine::probe_once(method, &good, false, CachePolicy::Keep), Ok(()));
}
