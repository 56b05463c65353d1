//! A file some of whose blocks cannot be read: the error names the file, and no output is left.

use crate::support::*;
use fullbore_testkit::mounts::command;

/// Mounts a disk with the file `in`, whose blocks from `good` bytes on cannot be read: its image is cut there.
fn disk_with_bad_blocks(dir: &TestDir, content: &[u8], good: usize) -> Result<Mount, String> {
    let image = dir.at("image");
    let disk = mount_image("mkfs.ext4 -q -F -b 4096 -O ^has_journal", &image, 64 << 20, &dir.at("disk"))?;
    fs::write(dir.at("disk/in"), content).unwrap();
    rustix::fs::sync();
    let first_bad = &content[good..good + 4096];
    let written = fs::read(&image).unwrap();
    let index = written.chunks(4096).position(|block| block == first_bad).expect("the block is in the image");
    fs::File::options().write(true).open(&image).unwrap().set_len(index as u64 * 4096).unwrap();
    let device = command("findmnt", ["-no".as_ref(), "SOURCE".as_ref(), dir.at("disk").as_os_str()])?;
    command("losetup", ["--set-capacity", &device])?;
    evict(&dir.at("disk/in"));
    Ok(disk)
}

fn evict(file: &Path) {
    let file = fs::File::open(file).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[test]
fn read_error_names_the_input() {
    let dir = TestDir::new();
    let content = bytes(8 << 20, 1);
    let disk = disk_with_bad_blocks(&dir, &content, 5 << 20);
    let Some(_disk) = or_skip("blocks that cannot be read", disk) else { return };
    dir.file("same", &content);
    let names_input = |line: &str| {
        evict(&dir.at("disk/in"));
        let ended = dir.run(line);
        if refused(&ended) {
            return;
        }
        assert!(ended.code() == 1 || ended.code() == 2, "{line}: {ended}");
        assert!(ended.stderr.contains("disk/in"), "{line}: {ended}");
        assert!(ended.stderr.contains("Input/output error"), "{line}: {ended}");
        assert!(!ended.stderr.contains("out:") && !dir.at("out").exists(), "{line}: {ended}");
    };
    for strategy in strategies(&["method=mmap,window=256K,workers=2", "method=uring,cache=direct,depth=8"]) {
        for tool in ["wc disk/in", "sum disk/in", "cmp disk/in same", "cmp same disk/in", "copy disk/in out"]
        {
            names_input(&format!("{tool} --strategy {strategy}"));
        }
        names_input(&format!("grep -c never disk/in --strategy {strategy}"));
        names_input(&format!("transform shift:1 disk/in out --strategy {strategy}"));
    }
    // The latter copies within one file system.
    for (method, out) in [("splice", "out"), ("copy_file_range", "disk/out")] {
        names_input(&format!("transform none disk/in {out} --strategy method={method}"));
        names_input(&format!("copy disk/in {out} --strategy method={method}"));
        assert_eq!(names(&dir.at("disk")), ["in"], "{method}");
    }
    // The blocks before the error are changed.
    for strategy in strategies(&[]) {
        names_input(&format!("transform shift:1 --in-place disk/in --strategy {strategy}"));
    }
}
