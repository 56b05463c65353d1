//! Comparison of the facts with the output of other programs for the same paths.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use fullbore_testkit::ground::build_directory;
use serde_json::Value;

use super::{Facts, extents, facts, residency};
use crate::sys::{self, Advice};

/// Returns the output of a program; `None` with a printed note if it is missing or fails.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).env("LC_ALL", "C").output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            println!("skipped: {program} fails: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            println!("skipped: {program}: {error}");
            None
        }
    }
}

fn paths() -> impl Iterator<Item = (String, Facts)> {
    let here = build_directory().into_os_string().into_string().unwrap();
    let others = ["/", "/proc/self/mountinfo", "/sys", "/dev/shm", "/tmp"].map(str::to_owned);
    std::iter::once(here).chain(others).filter(|path| Path::new(path).exists()).map(|path| {
        let facts = facts(Path::new(&path)).unwrap();
        (path, facts)
    })
}

#[test]
fn findmnt_names_the_same_mount() {
    for (path, facts) in paths() {
        let Some(answer) = ask("findmnt", &["-J", "-o", "TARGET,SOURCE,FSTYPE,VFS-OPTIONS", "-T", &path])
        else {
            return;
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let reported = &answer["filesystems"][0];
        let found = facts.file_system.unwrap();
        assert_eq!(reported["target"], found.mount_point, "{path}");
        assert_eq!(reported["fstype"], found.kind, "{path}");
        assert_eq!(reported["vfs-options"], found.mount_options.join(","), "{path}");
        // findmnt appends the directory of a bind mount to the source.
        let source = reported["source"].as_str().unwrap();
        assert_eq!(source.split('[').next().unwrap(), found.source, "{path}");
    }
}

#[test]
fn stat_counts_the_same_room() {
    for (path, facts) in paths() {
        let Some(answer) = ask("stat", &["-f", "-c", "%i %S %b", &path]) else { return };
        let words: Vec<_> = answer.split_whitespace().collect();
        let found = facts.file_system.unwrap();
        let block: u64 = words[1].parse().unwrap();
        assert_eq!(block, found.block_size, "{path}");
        assert_eq!(words[2].parse::<u64>().unwrap() * block, found.total, "{path}");
        assert_eq!(words[0].trim_start_matches('0'), found.id.unwrap_or_default(), "{path}");
    }
}

#[test]
fn filefrag_lists_the_same_extents() {
    let folder = tempfile::tempdir_in(build_directory()).unwrap();
    let path = folder.path().join("runs");
    let file = File::create(&path).unwrap();
    for run in 0..10u64 {
        file.write_all_at(&[run as u8 + 1; 8192], run * 65536).unwrap();
    }
    file.sync_all().unwrap();
    let Some(answer) = ask("filefrag", &["-v", "-b1", path.to_str().unwrap()]) else { return };
    let Ok(found) = extents(File::open(&path).unwrap()) else {
        println!("skipped: no FIEMAP here");
        return;
    };
    // Rows have the form "0:  0..  8191:  1000..  9191:  8192:  ...".
    let reported: Vec<(u64, u64, u64)> = answer
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':').map(str::trim);
            fields.next()?.parse::<u64>().ok()?;
            let first = |range: &str| range.split("..").next()?.trim().parse::<u64>().ok();
            Some((first(fields.next()?)?, first(fields.next()?)?, fields.next()?.parse().ok()?))
        })
        .collect();
    assert!(reported.len() >= 10, "{answer}");
    let found: Vec<_> =
        found.iter().map(|extent| (extent.offset, extent.physical.unwrap(), extent.length)).collect();
    assert_eq!(found, reported);
}

#[test]
fn fincore_counts_the_same_pages() {
    let folder = tempfile::tempdir_in(build_directory()).unwrap();
    let path = folder.path().join("half");
    let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    file.write_all_at(&vec![1; 4 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let half = Some(2 << 20);
    sys::advise(&file, 0, half, Advice::DontNeed).unwrap();
    let Some(answer) = ask("fincore", &["-J", "-b", "-o", "RES", path.to_str().unwrap()]) else { return };
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let reported = &answer["fincore"][0]["res"];
    let reported = reported.as_u64().or_else(|| reported.as_str()?.parse().ok()).unwrap();
    assert_eq!(residency(&file, 0..u64::MAX).unwrap().cached, reported);
}

#[test]
fn lsblk_describes_the_same_device() {
    let facts = facts(&build_directory()).unwrap();
    let Some(device) = facts.devices.first() else {
        println!("skipped: {} is on no device", facts.path);
        return;
    };
    let columns = "NAME,MAJ:MIN,SIZE,ROTA,SCHED,RQ-SIZE,RA,PHY-SEC,LOG-SEC,MIN-IO,RO";
    let name = format!("/dev/{}", device.name);
    let Some(answer) = ask("lsblk", &["-J", "-b", "-d", "-o", columns, &name]) else { return };
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let reported = &answer["blockdevices"][0];
    let number = |column: &str| {
        let value = &reported[column];
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    };
    assert_eq!(reported["name"], device.name);
    assert_eq!(reported["maj:min"].as_str().unwrap().trim(), device.number.to_string());
    assert_eq!(number("size"), device.size);
    let queue = &device.queue;
    assert_eq!(reported["rota"].as_bool(), queue.rotational);
    assert_eq!(reported["sched"].as_str(), queue.scheduler.as_deref());
    assert_eq!(number("rq-size"), queue.requests);
    assert_eq!(number("ra").map(|kibibytes| kibibytes * 1024), queue.read_ahead);
    assert_eq!(number("phy-sec"), queue.physical_block);
    assert_eq!(number("log-sec"), queue.logical_block);
    assert_eq!(number("min-io"), queue.minimum_io);
    assert_eq!(reported["ro"].as_bool(), device.read_only);
}
