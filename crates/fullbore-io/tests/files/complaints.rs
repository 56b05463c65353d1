//! Regressions reported for other libraries, each named after its issue. Those about copies, mappings, vectors and syncs are
//! in the files of these topics under the same kind of name.

use super::*;

use std::io::{Seek, SeekFrom};

#[cfg(target_os = "linux")]
use fullbore_testkit::mounts::LoopDevice;

/// rustfs#4221: files were renamed into place but their directory was never synced, so a power failure could revert the
/// name after success was reported.
#[test]
fn rustfs_4221_the_directory_is_synced_after_the_name() {
    everywhere(|directory| {
        let path = write_file(directory, "file", b"old");
        let plan = Plan::new(1).with_power_failure();
        let output = Output::replace(&path).unwrap().with_faults(&plan);
        output.file().write_all_at(b"new", 0).unwrap();
        let report = output.commit(Durability::Full).unwrap();
        assert!(report.directory());
        let named = |event: &Event| matches!(event, Event::Renamed { to, .. } if *to == path);
        let synced = |event: &Event| matches!(event, Event::Synced(Durability::Full));
        let directory_synced = |event: &Event| matches!(event, Event::SyncedDirectory(_));
        let events = plan.events();
        let place = |of: &dyn Fn(&Event) -> bool| events.iter().position(of).expect("an event");
        assert!(place(&synced) < place(&named) && place(&named) < place(&directory_synced), "{events:?}");
        plan.crash(CrashState::RenameLost).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    });
}

/// rust-lang/rust#89517, tokio#1529: without vectored calls at offsets, callers shared one position and had to take turns.
#[test]
fn rust_89517_vectors_at_offsets_do_not_use_the_position() {
    everywhere(|directory| {
        let (path, data) = filled(directory, 10_000, 1);
        let mut own = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        own.seek(SeekFrom::Start(4321)).unwrap();
        let keep = File::from_fd(own.try_clone().unwrap().into(), &path).unwrap();
        for cache in POLICIES {
            let (file, _) = keep.with_cache(cache);
            let (mut first, mut second) = ([0; 100], [0; 900]);
            let mut parts = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            file.read_exact_vectored_at(&mut parts, 77).unwrap();
            assert!(first == data[77..177] && second == data[177..1077]);
            file.write_all_vectored_at(&[IoSlice::new(&first), IoSlice::new(&second)], 77).unwrap();
            file.seek_hole(0).unwrap();
            // Windows moves the position of a handle at every transfer.
            if cfg!(unix) {
                assert_eq!(own.stream_position().unwrap(), 4321, "{cache:?}");
            }
        }
        assert!(fs::read(&path).unwrap() == data);
    });
}

/// dotnet#109826: after a short gathered write, the next one started at the next buffer instead of the rest of the current
/// one.
#[test]
fn dotnet_109826_a_short_gathered_write_is_continued_inside_the_buffer() {
    everywhere(|directory| {
        let path = directory.join("file");
        // Each piece is a call on Windows.
        let data = bytes(if cfg!(windows) { 1500 } else { 30_000 }, 2);
        for (seed, cache) in POLICIES.into_iter().enumerate() {
            for len in [1, 7, 4096] {
                fs::write(&path, b"").unwrap();
                let plan = Plan::new(seed as u64)
                    .with(Fault::Short { one_in: 1 })
                    .with(Fault::Interrupted { one_in: 5 })
                    .with(Fault::Buffers { most: 3 });
                let (file, _) = File::open_write(&path).unwrap().with_faults(&plan).with_cache(cache);
                let parts: Vec<_> = data.chunks(len).map(IoSlice::new).collect();
                file.write_all_vectored_at(&parts, 11).unwrap();
                assert!(fs::read(&path).unwrap()[11..] == data, "{cache:?} {len}");
                let mut read = vec![0; data.len()];
                let mut into: Vec<_> = read.chunks_mut(len).map(IoSliceMut::new).collect();
                file.read_exact_vectored_at(&mut into, 11).unwrap();
                assert!(read == data, "{cache:?} {len}");
                let counts = plan.counts();
                // Direct writes of single bytes cannot be shortened.
                assert!(counts.short > 0 || cache == CachePolicy::Direct, "{counts:?}");
                assert!(counts.interrupted > 0, "{counts:?}");
            }
        }
    });
}

/// dotnet#108380: one code path truncated offsets to 32 bits. One buffer here; `transfers` tests vectors.
#[test]
fn dotnet_108380_offsets_beyond_2_gib_are_not_truncated() {
    everywhere(|directory| {
        let path = directory.join("file");
        let data = bytes(9000, 3);
        for cache in POLICIES {
            fs::write(&path, b"").unwrap();
            let (file, _) = File::open_write(&path).unwrap().with_cache(cache);
            for offset in [(1_u64 << 31) - 4500, (1 << 32) - 4500, (1 << 32) + 4096] {
                file.write_all_at(&data, offset).unwrap();
                let mut found = read_at(&path, offset, data.len());
                assert!(found == data, "{cache:?} {offset}");
                found.fill(0);
                file.read_exact_at(&mut found, offset).unwrap();
                assert!(found == data, "{cache:?} {offset}");
                let window = file.map(offset + 1..offset + 9000).unwrap();
                assert!(window.in_place(|bytes| *bytes == data[1..]).unwrap(), "{cache:?} {offset}");
                let target = File::create_new(directory.join("copy")).unwrap();
                file.copy_range(offset..offset + 9000, &target, 0).unwrap();
                assert!(fs::read(directory.join("copy")).unwrap() == data, "{cache:?} {offset}");
                fs::remove_file(directory.join("copy")).unwrap();
            }
        }
    });
}

/// dotnet#124722: a flush to the device truncated the file (macOS, SMB).
#[test]
fn dotnet_124722_flush_to_disk_changes_neither_length_nor_bytes() {
    everywhere(|directory| {
        let path = directory.join("file");
        let data = bytes(100_000, 4);
        let file = File::create_new(&path).unwrap();
        file.write_all_at(&data, 0).unwrap();
        file.set_len(150_000).unwrap();
        for level in [Durability::Data, Durability::Full] {
            file.sync(level).unwrap();
            let found = fs::read(&path).unwrap();
            assert!(found.len() == 150_000 && found[..100_000] == data, "{level:?}");
        }
    });
}

/// AgentENV#274: the alignment was assumed to be 512 bytes, so that every transfer failed on devices with larger sectors.
/// compio#932: direct I/O left alignment and edges to the callers.
// Only Linux has loop devices.
#[cfg(target_os = "linux")]
#[test]
fn agentenv_274_alignment_is_the_devices_own() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = directory.path().join("image");
    for sector in [512, 4096] {
        fs::write(&image, vec![0; 4 << 20]).unwrap();
        let made = LoopDevice::new(&image, &format!("--sector-size={sector}"));
        let Some(made) = fullbore_testkit::or_skip("a loop device", made) else { return };
        let (file, support) = File::open_write(made.path()).unwrap().with_cache(CachePolicy::Direct);
        assert_eq!(support, Support::Native, "{sector}");
        assert_eq!(file.direct_alignment(), sector);
        let mut model = vec![0; 100_000];
        for (index, (offset, len)) in
            [(0, 512), (512, 512), (3584, 1024), (5, 9), (4095, 4098), (1000, 80_000)].into_iter().enumerate()
        {
            let data = bytes(len, index as u64);
            file.write_all_at(&data, offset as u64).unwrap();
            model[offset..offset + len].copy_from_slice(&data);
            let mut read = vec![1; len];
            file.read_exact_at(&mut read, offset as u64).unwrap();
            assert!(read == data, "{sector}: {len} at {offset}");
        }
        assert_eq!(file.cache_policy(), (CachePolicy::Direct, Support::Native), "no fallback");
        file.sync_data().unwrap();
        assert!(read_at(&image, 0, model.len()) == model, "{sector}");
    }
}
