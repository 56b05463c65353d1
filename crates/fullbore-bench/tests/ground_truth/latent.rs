//! Disks whose requests take a known time. A throttle cannot simulate that: it carries unused time to the next slice. A
//! process serves a file system of one file (FUSE) and answers each request when such a disk would complete it; the file
//! is the image of a loop disk.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyWrite, Request, WriteFlags,
};

use fullbore_testkit::mounts::command;
use fullbore_testkit::processes::alone;

use super::disk::{CleanupProcess, Disk, DiskImage, EXT4, eventually};
use super::lab::Meter;
use super::timing::{Timing, timing};

/// Makes a process serve a disk: mount point, length of the image, timing, and the file whose existence switches the
/// timing on, separated by colons. The timing is `cache` or `no cache` of a disk of 1997, or the parameters of a bucket.
const SERVED: &str = "FULLBORE_GROUND_TRUTH_SERVED";

const IMAGE: &str = "disk.img";
const ROOT: INodeNo = INodeNo::ROOT;
const FILE: INodeNo = INodeNo(2);
/// Attributes are valid forever: only the kernel itself changes them.
const FOREVER: Duration = Duration::from_secs(3600);

enum Reply {
    Read(ReplyData, Vec<u8>),
    Written(ReplyWrite, usize),
}

impl Reply {
    fn send(self) {
        match self {
            Self::Read(reply, data) => reply.data(&data),
            Self::Written(reply, len) => reply.written(len as u32),
        }
    }
}

struct DiskServer {
    bytes: File,
    len: u64,
    /// A file whose existence switches the latency on.
    go: PathBuf,
    timing: Mutex<Box<dyn Timing>>,
    /// The timing, to restart it.
    named: String,
    line: &'static ReplyQueue,
}

/// Replies in the order in which they are due.
#[derive(Default)]
struct ReplyQueue {
    due: Mutex<VecDeque<(Instant, Reply)>>,
    more: Condvar,
}

impl ReplyQueue {
    fn send_all(&self) {
        loop {
            let mut due = self.more.wait_while(self.due.lock().unwrap(), |due| due.is_empty()).unwrap();
            let (at, answer) = due.pop_front().unwrap();
            drop(due);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            answer.send();
        }
    }
}

impl DiskServer {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, size) =
            if inode == ROOT { (FileType::Directory, 0) } else { (FileType::RegularFile, self.len) };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }

    fn answer(&self, writes: bool, len: usize, answer: Reply) {
        if !self.go.exists() {
            *self.timing.lock().unwrap() = timing(&self.named);
            return answer.send();
        }
        // Under one lock, so that the queue is in order.
        let mut timing = self.timing.lock().unwrap();
        let at = timing.answers(Instant::now(), writes, len);
        self.line.due.lock().unwrap().push_back((at, answer));
        self.line.more.notify_one();
    }
}

impl Filesystem for DiskServer {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let refused = || std::io::Error::other("the kernel is too old");
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(|_| refused())?;
        config.set_max_background(64).map_err(|_| refused())?;
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == ROOT && name == IMAGE {
            reply.entry(&FOREVER, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut data = vec![0; (size as u64).min(self.len.saturating_sub(offset)) as usize];
        match self.bytes.read_exact_at(&mut data, offset) {
            Ok(()) => self.answer(false, data.len(), Reply::Read(reply, data)),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.bytes.write_all_at(data, offset) {
            Ok(()) => self.answer(true, data.len(), Reply::Written(reply, data.len())),
            Err(_) => reply.error(Errno::EIO),
        }
    }
}

/// Serves a disk until it is unmounted, in the process started for that; true if this is that process.
pub(crate) fn served_here() -> bool {
    let Ok(asked) = std::env::var(SERVED) else { return false };
    let parts: Vec<&str> = asked.split(':').collect();
    let [place, len, named, go] = parts[..] else { panic!("{asked}") };
    let len: u64 = len.parse().unwrap();
    let bytes = tempfile::tempfile_in(Path::new(place).parent().unwrap()).unwrap();
    bytes.set_len(len).unwrap();
    let line: &'static ReplyQueue = Box::leak(Box::default());
    std::thread::spawn(|| line.send_all());
    let server = DiskServer {
        bytes,
        len,
        go: go.into(),
        timing: Mutex::new(timing(named)),
        named: named.to_owned(),
        line,
    };
    fuser::mount(server, place, &Config::default()).unwrap();
    true
}

/// A mounted file system of one image, and the process that serves it.
struct MountedImage {
    place: PathBuf,
    child: Child,
    _heir: CleanupProcess,
}

impl MountedImage {
    fn new(test: &str, place: PathBuf, len: u64, timing: &str, go: &Path) -> Result<Self, String> {
        std::fs::create_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut child = alone(test)
            .env(SERVED, format!("{}:{len}:{timing}:{}", place.display(), go.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // It must outlive the disk on it, also if a signal ends the test.
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let image = place.join(IMAGE);
        let there = eventually(|| image.exists() || child.try_wait().is_ok_and(|ended| ended.is_some()));
        if !there || !image.exists() {
            let _ = child.kill();
            let _ = child.wait();
            let _ = std::fs::remove_dir(&place);
            return Err("FUSE does not work".into());
        }
        // After the cleanup process of the disk on it, which does not wait.
        let script = "sleep 1; umount --lazy \"$1\"; sleep 1; kill -9 \"$2\"; rmdir \"$1\"";
        let heir = CleanupProcess::of(script, &[&place.to_string_lossy(), &child.id().to_string()])?;
        Ok(Self { place, child, _heir: heir })
    }
}

impl Drop for MountedImage {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        if !eventually(|| command("umount", [&*place]).is_ok()) {
            let _ = self.child.kill();
            let _ = command("umount", ["--lazy", &place]);
        }
        let _ = self.child.wait();
        let _ = std::fs::remove_dir(&self.place);
    }
}

/// Disks of this kind. Dropped in the order of the fields: disks, their servers, the directory.
pub(crate) struct Latent {
    _disks: Vec<Disk>,
    _served: Vec<MountedImage>,
    meter: Meter,
}

impl Latent {
    /// Makes `count` disks of a timing for `test`, to be measured with files of `file` bytes.
    pub(crate) fn new(test: &str, count: usize, timing: &str, file: u64) -> Result<Self, String> {
        if !Path::new("/dev/fuse").exists() {
            return Err("no /dev/fuse".into());
        }
        let mut meter = Meter::new(file)?;
        let go = meter.root().join("go");
        meter.limited_by(go.clone());
        // Dropped in reverse order if something is missing.
        let mut served = Vec::new();
        let mut disks = Vec::new();
        for index in 0..count {
            let within = meter.root().join(format!("served-{index}"));
            let len = (128 << 20) + file * 5 / 4;
            let mounted = MountedImage::new(test, within.clone(), len, timing, &go)?;
            served.push(mounted);
            // No journal, and file times kept in memory: the disk gets no other requests.
            let mkfs = &[EXT4, &["-O", "^has_journal"]].concat();
            let made = DiskImage { len, mkfs, options: "lazytime", past_cache: true };
            let disk = Disk::of(&within.join(IMAGE), meter.root().join(index.to_string()), &made)?;
            meter.directories.push(disk.place.clone());
            disks.push(disk);
        }
        Ok(Self { _disks: disks, _served: served, meter })
    }
}

impl AsRef<Meter> for Latent {
    fn as_ref(&self) -> &Meter {
        &self.meter
    }
}
