//! Disks whose requests take a known time, which a throttle cannot make: what it did not give in one slice it gives in the
//! next. A process serves a file system of one file (FUSE) and answers each request when such a disk would be done with it;
//! the file is the image of a loop disk.
//!
//! The disk is one of 1997. Its head passes so many bytes a second. It reads on by itself, so that a read that goes on where
//! the last one ended is in its buffer. A write waits for its place to come round, unless the disk says that it is written
//! as soon as it is in the buffer (write cache enabled); writes that are there in time are all written as their places
//! come, so the turn is lost once for all that wait together.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyWrite, Request, WriteFlags,
};

use super::disk::{CleanupProcess, Disk, DiskImage, EXT4, command, eventually};
use super::lab::{Laboratory, Meter};

/// Tells a process that it is to serve: where, how long the image is, whether writes are cached, and the file that says that
/// requests take their time from now on, a colon between them.
const SERVED: &str = "FULLBORE_GROUND_TRUTH_SERVED";

/// The name of the one file.
const IMAGE: &str = "disk.img";
const ROOT: INodeNo = INodeNo::ROOT;
const FILE: INodeNo = INodeNo(2);
/// Nothing changes but by what the kernel itself does.
const FOREVER: Duration = Duration::from_secs(3600);

/// Bytes a second under the head: so few that the way to the disk is little beside a request.
pub(crate) const RATE: f64 = 2_048_000.0;
/// How long a write waits for its place, in seconds: as long, beside a transfer, as the paper's figures say.
pub(crate) const TURN: f64 = 0.022;
/// How long a request may be on its way to the disk and back, in seconds: through a loop device and a process of the test, on
/// processors that others use too.
pub(crate) const WAY: f64 = 0.001;
/// What the disk reads ahead, or writes behind, in bytes.
const BUFFER: f64 = 64.0 * 1024.0;

/// When a disk is done with its requests.
#[derive(Debug)]
struct Head {
    /// When it has passed all that was asked for; of what the buffer has, perhaps in the future or long ago.
    free: Instant,
    write_cache: bool,
}

impl Head {
    /// When a request that comes `now` is answered.
    fn answers(&mut self, now: Instant, writes: bool, len: usize) -> Instant {
        let transfer = Duration::from_secs_f64(len as f64 / RATE);
        if writes && !self.write_cache {
            self.free = self.free.max(now + Duration::from_secs_f64(TURN)) + transfer;
            return self.free;
        }
        let ahead = Duration::from_secs_f64(BUFFER / RATE);
        let start = now.checked_sub(ahead).map_or(self.free, |earliest| self.free.max(earliest));
        self.free = start + transfer;
        self.free.max(now)
    }
}

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

/// The disk's process.
struct DiskServer {
    bytes: File,
    len: u64,
    /// There when requests are to take their time.
    go: PathBuf,
    head: Mutex<Head>,
    line: &'static ReplyQueue,
}

/// Answers in the order in which they are due.
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
            return answer.send();
        }
        // Under one lock, so that the line is in order.
        let mut head = self.head.lock().unwrap();
        let at = head.answers(Instant::now(), writes, len);
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

/// Serves a disk until it is unmounted, in the process that was started to; whether this was one.
pub(crate) fn served_here() -> bool {
    let Ok(asked) = std::env::var(SERVED) else { return false };
    let parts: Vec<&str> = asked.split(':').collect();
    let [place, len, write_cache, go] = parts[..] else { panic!("{asked}") };
    let len: u64 = len.parse().unwrap();
    let bytes = tempfile::tempfile_in(Path::new(place).parent().unwrap()).unwrap();
    bytes.set_len(len).unwrap();
    let line: &'static ReplyQueue = Box::leak(Box::default());
    std::thread::spawn(|| line.send_all());
    let head = Mutex::new(Head { free: Instant::now(), write_cache: write_cache == "true" });
    fuser::mount(DiskServer { bytes, len, go: go.into(), head, line }, place, &Config::default()).unwrap();
    true
}

/// A mounted file system of one image, and the process that serves it.
struct MountedImage {
    place: PathBuf,
    child: Child,
    _heir: CleanupProcess,
}

impl MountedImage {
    fn new(test: &str, place: PathBuf, len: u64, write_cache: bool, go: &Path) -> Result<Self, String> {
        std::fs::create_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "--exact", test])
            .env(SERVED, format!("{}:{len}:{write_cache}:{}", place.display(), go.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // It has to outlive the disk on it, also where a signal ends the test.
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let image = place.join(IMAGE);
        let there = eventually(|| image.exists() || child.try_wait().is_ok_and(|ended| ended.is_some()));
        if !there || !image.exists() {
            let _ = child.kill();
            let _ = child.wait();
            let _ = std::fs::remove_dir(&place);
            return Err("no file system can be served (FUSE)".into());
        }
        // After the heir of the disk on it, which waits for nothing.
        let script = "sleep 1; umount --lazy \"$1\"; sleep 1; kill -9 \"$2\"; rmdir \"$1\"";
        let heir = CleanupProcess::of(script, &[&place.to_string_lossy(), &child.id().to_string()])?;
        Ok(Self { place, child, _heir: heir })
    }
}

impl Drop for MountedImage {
    fn drop(&mut self) {
        let place = self.place.to_string_lossy();
        if !eventually(|| command("umount", &[&place]).is_ok()) {
            let _ = self.child.kill();
            let _ = command("umount", &["--lazy", &place]);
        }
        let _ = self.child.wait();
        let _ = std::fs::remove_dir(&self.place);
    }
}

/// Disks of this kind. Dropped in the order of the fields: disks, what serves them, the directory.
pub(crate) struct Latent {
    _disks: Vec<Disk>,
    _served: Vec<MountedImage>,
    meter: Meter,
}

impl Latent {
    /// Makes `count` disks for `test`, to be measured with files of `file` bytes.
    ///
    /// # Errors
    /// What is missing here.
    pub(crate) fn new(test: &str, count: usize, write_cache: bool, file: u64) -> Result<Self, String> {
        if !Path::new("/dev/fuse").exists() {
            return Err("there is no /dev/fuse".into());
        }
        let mut meter = Meter::new(file)?;
        let go = meter.root().join("go");
        meter.limited_by(go.clone());
        // Dropped the other way round, should something be missing.
        let mut served = Vec::new();
        let mut disks = Vec::new();
        for index in 0..count {
            let within = meter.root().join(format!("served-{index}"));
            let len = (128 << 20) + file * 5 / 4;
            let mounted = MountedImage::new(test, within.clone(), len, write_cache, &go)?;
            served.push(mounted);
            // No journal, and times of files kept in memory: the disk is asked for nothing else.
            let mkfs = &[EXT4, &["-O", "^has_journal"]].concat();
            let made = DiskImage { len, mkfs, options: "lazytime", past_cache: true };
            let disk = Disk::of(&within.join(IMAGE), meter.root().join(index.to_string()), &made)?;
            meter.directories.push(disk.place.clone());
            disks.push(disk);
        }
        Ok(Self { _disks: disks, _served: served, meter })
    }
}

impl Laboratory for Latent {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn lift(&self) {
        let _ = std::fs::remove_file(self.meter.root().join("go"));
    }
}

#[test]
fn writes_that_wait_together_lose_one_turn() {
    let start = Instant::now() + Duration::from_secs(1);
    let millis = |instant: Instant| (instant - start).as_secs_f64() * 1e3;
    let mut head = Head { free: start, write_cache: false };
    // A turn of 22 ms, then 8 ms a write of 16 KiB.
    let one = head.answers(start, true, 16 << 10);
    let two = head.answers(start, true, 16 << 10);
    assert!((millis(one) - 30.0).abs() < 0.01 && (millis(two) - 38.0).abs() < 0.01);
    // In time for the place behind the second, and too late.
    let three = head.answers(start + Duration::from_millis(16), true, 16 << 10);
    let four = head.answers(start + Duration::from_millis(200), true, 16 << 10);
    assert!((millis(three) - 46.0).abs() < 0.01 && (millis(four) - 230.0).abs() < 0.01);
    // What was read ahead is there; what was not is as far away as the head is slow.
    let mut head = Head { free: start, write_cache: false };
    let late = start + Duration::from_millis(32);
    assert_eq!(head.answers(late, false, 64 << 10), late);
    assert!((millis(head.answers(late, false, 16 << 10)) - 40.0).abs() < 0.01);
}
