//! Support for all tests: the binary, a temporary directory, programs with a time limit, and what most tests import.

use std::fmt;
#[cfg(unix)]
pub(crate) use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
pub(crate) use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::OnceLock;

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::ffi::{OsStr, OsString};
pub(crate) use std::fs::{self, File};
pub(crate) use std::io::{Read, Seek, SeekFrom, Write};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Stdio};
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::thread::{self, sleep};
pub(crate) use std::time::{Duration, Instant};

#[cfg(unix)]
pub(crate) use crate::facilities::*;
use fullbore::sys;
#[cfg(unix)]
pub(crate) use fullbore_testkit::ground::fifo;
pub(crate) use fullbore_testkit::ground::{NULL, bytes, names};
pub(crate) use fullbore_testkit::{assert_eventually, cases, meanwhile, or_skip};
#[cfg(unix)]
pub(crate) use rustix::process::{Pid, Signal};
pub(crate) use serde_json::{Value, json};

/// Time after which a program counts as hanging. Long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// An absolute path without a directory: no profile.
pub(crate) const NOWHERE: &str = if cfg!(windows) { r"C:\nonexistent" } else { "/nonexistent" };
/// The exit code after [`RunningProgram::kill`].
pub(crate) const KILLED: i32 = if cfg!(windows) { 1 } else { 137 };

/// The binary. The build's path is one of Unix if the test runs under Wine.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::path::absolute(env!("CARGO_BIN_EXE_fullbore")).unwrap())
}

/// Gives the binary a tool's name in a directory.
pub(crate) fn name_binary(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    #[cfg(unix)]
    std::os::unix::fs::symlink(binary(), &path).unwrap();
    #[cfg(windows)]
    {
        fs::hard_link(binary(), &path).unwrap();
        // Wine 8 lacks this library, which then is beside the binary.
        let library = "bcryptprimitives.dll";
        if binary().with_file_name(library).exists() && !directory.join(library).exists() {
            fs::hard_link(binary().with_file_name(library), directory.join(library)).unwrap();
        }
    }
    path
}

/// A test's own directory, on the build's file system.
pub(crate) struct TestDir(tempfile::TempDir);

impl TestDir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir_in(std::path::absolute(env!("CARGO_TARGET_TMPDIR")).unwrap()).unwrap())
    }

    /// Creates one in a directory, on its file system.
    pub(crate) fn within(directory: &Path) -> Self {
        Self(tempfile::tempdir_in(directory).unwrap())
    }

    /// Creates a directory with access for all users.
    #[cfg(unix)]
    pub(crate) fn open_to_all() -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(dir.0.path(), fs::Permissions::from_mode(0o777)).unwrap();
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    /// Creates files with the same content.
    pub(crate) fn files<const N: usize>(&self, names: [&str; N], content: impl AsRef<[u8]>) {
        names.iter().for_each(|name| drop(self.file(name, &content)));
    }

    pub(crate) fn directories<S: AsRef<str>>(&self, names: impl IntoIterator<Item = S>) {
        names.into_iter().for_each(|name| fs::create_dir_all(self.at(name.as_ref())).unwrap());
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.at(name)).unwrap().mode() & 0o7777
    }

    #[cfg(unix)]
    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        fifo(&self.at(name));
        self.at(name)
    }

    /// Returns a shell line in this directory, with the binary as `$0`.
    #[cfg(unix)]
    pub(crate) fn shell_command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-c", line]).arg(binary()).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", NOWHERE);
        command
    }

    /// Runs a [shell line](Self::shell_command).
    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn shell(&self, line: &str) -> Finished {
        run(&mut self.shell_command(line))
    }

    /// Returns the command with space-separated words, in this directory, with the profile of this directory.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = fullbore([""; 0]);
        words.split_whitespace().for_each(|word| verbatim(&mut command, word));
        command.current_dir(self.path()).env("XDG_CONFIG_HOME", self.at("config"));
        command
    }

    /// Runs the command with space-separated words in this directory.
    #[track_caller]
    pub(crate) fn run(&self, words: &str) -> Finished {
        run(&mut self.command(words))
    }

    /// Returns its names, sorted, to check that a run left nothing behind.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

/// A test may leave directories that their owner, if that is not root, can neither list nor change.
#[cfg(unix)]
impl Drop for TestDir {
    fn drop(&mut self) {
        if fs::remove_dir_all(self.path()).is_err() {
            let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.path()).output();
        }
    }
}

/// Returns every path from `root` down, with its metadata; links are not followed.
pub(crate) fn walked(root: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let (mut found, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push((path, metadata));
    }
    found
}

#[derive(Debug, PartialEq)]
pub(crate) struct FileState {
    /// Empty except for files.
    pub(crate) content: Vec<u8>,
    pub(crate) identity: (u64, u64),
    links: u64,
    permissions: fs::Permissions,
}

/// Returns the state of every path from `root` down.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<PathBuf, FileState> {
    let state = |(path, found): (PathBuf, fs::Metadata)| {
        let content = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let stat = sys::stat_at(sys::CURRENT_DIRECTORY, &path, sys::AtFlags::NOFOLLOW).unwrap();
        let (identity, links) = (stat.identity(), stat.nlink);
        (path, FileState { content, identity, links, permissions: found.permissions() })
    };
    walked(root).into_iter().map(state).collect()
}

/// Returns the command, without the profile of the user who runs the tests.
pub(crate) fn fullbore<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    program(binary(), arguments)
}

/// Adds an argument. On Windows, the program expands patterns of names unless they are quoted.
pub(crate) fn verbatim(command: &mut Command, word: &str) {
    #[cfg(windows)]
    if word.contains(['*', '?', '[']) {
        std::os::windows::process::CommandExt::raw_arg(command, format!("\"{word}\""));
        return;
    }
    command.arg(word);
}

/// Returns a program without the profile of the user who runs the tests.
pub(crate) fn program<I: AsRef<OsStr>>(binary: &Path, arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).env("XDG_CONFIG_HOME", NOWHERE).stdin(Stdio::null());
    command
}

/// Returns `fullbore transform` with space-separated words, then paths.
pub(crate) fn transform(operation: &str, input: &Path, output: &Path, options: &[&str]) -> Command {
    let mut command = fullbore(["transform", operation]);
    command.arg(input).arg(output).args(options);
    command
}

pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Finished {
    /// Returns the exit code as a shell does: 128 plus the signal for a program ended by a signal.
    pub(crate) fn code(&self) -> i32 {
        code(self.status)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code(), 0, "{self}");
        self
    }

    /// True if it succeeded; false if the command reported a method as unavailable.
    #[track_caller]
    pub(crate) fn succeeds_unless_refused(self) -> bool {
        !refused(&self) && self.succeeds().code() == 0
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// Asserts an exit code, and a message with each of `words` and without a panic.
    #[track_caller]
    pub(crate) fn fails(self, wanted: i32, words: &[&str]) -> Self {
        assert_eq!(self.code(), wanted, "{self}");
        assert_contains(&self.stderr, words);
        assert!(!self.stderr.contains("panicked"), "{self}");
        self
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {}, {} bytes out, messages: {}", self.code(), self.stdout.len(), self.stderr)
    }
}

pub(crate) fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let by_signal = || 128 + status.signal().unwrap();
    #[cfg(windows)]
    let by_signal = || unreachable!("every process of Windows has an exit code");
    status.code().unwrap_or_else(by_signal)
}

/// The system's words for an error number, without the first letter, whose case depends on the place.
pub(crate) fn system_text(number: i32) -> String {
    system_words(number)[1..].to_owned()
}

/// The system's words for an error number.
pub(crate) fn system_words(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The system's words for a missing file: "No such file or directory".
pub(crate) fn not_found() -> String {
    system_words(2)
}

/// A text with the separators of Unix in its paths.
pub(crate) fn slashes(text: &str) -> String {
    if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() }
}

/// Writes at an offset of an existing file.
pub(crate) fn write_at(path: &Path, bytes: &[u8], offset: u64) {
    let mut file = fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

#[track_caller]
pub(crate) fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
}

pub(crate) struct RunningProgram {
    pub(crate) child: Child,
    stdout: Option<thread::JoinHandle<Vec<u8>>>,
    stderr: thread::JoinHandle<Vec<u8>>,
}

/// Starts a program and collects its output, unless the caller redirected standard output.
pub(crate) fn start(command: &mut Command) -> RunningProgram {
    start_with(command, true)
}

/// As [`start`], but the caller reads standard output.
pub(crate) fn start_unread(command: &mut Command) -> RunningProgram {
    start_with(command.stdout(Stdio::piped()), false)
}

fn read_all(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

fn start_with(command: &mut Command, gather: bool) -> RunningProgram {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let read = |stream: Box<dyn Read + Send>| thread::spawn(move || read_all(stream));
    let stdout = if gather { child.stdout.take() } else { None }.map(|out| read(Box::new(out)));
    let stderr = read(Box::new(child.stderr.take().unwrap()));
    RunningProgram { child, stdout, stderr }
}

impl RunningProgram {
    /// Ends it immediately; its exit code is then [`KILLED`].
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Ends it by Ctrl-C if `gently`, or immediately: on Windows Ctrl-C reaches every program of the console.
    pub(crate) fn stop(&mut self, gently: bool) {
        match gently {
            #[cfg(unix)]
            true => self.signal(Signal::INT),
            _ => self.kill(),
        }
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; a hanging program is killed, and the test fails.
    #[track_caller]
    pub(crate) fn end(mut self) -> Finished {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                let messages = self.stderr.join().unwrap();
                panic!("the program hangs; its messages: {}", String::from_utf8_lossy(&messages));
            }
            thread::sleep(Duration::from_millis(1));
        };
        Finished {
            status,
            stdout: self.stdout.map(|gathered| gathered.join().unwrap()).unwrap_or_default(),
            stderr: String::from_utf8_lossy(&self.stderr.join().unwrap()).into_owned(),
        }
    }

    pub(crate) fn alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// Runs a program to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Finished {
    start(command.stdout(Stdio::piped())).end()
}

/// Runs a program with `input` from a pipe.
#[track_caller]
pub(crate) fn run_with(command: &mut Command, input: &[u8]) -> Finished {
    let mut running = start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut pipe = running.child.stdin.take().unwrap();
    thread::scope(|scope| {
        // It may end before it has read everything.
        scope.spawn(move || drop(pipe.write_all(input)));
        running.end()
    })
}

pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.any(|directory| directory.join(program).is_file())
}

/// The reason if a program is not installed.
pub(crate) fn installed(program: &str) -> Result<(), String> {
    has(program).then_some(()).ok_or_else(|| format!("no {program}"))
}

/// Every access method that reads and writes.
pub(crate) fn methods() -> Vec<&'static str> {
    let all = fullbore::engine::METHODS.iter().filter(|method| method.capabilities.transfers);
    all.map(|method| method.name).filter(|name| *name != "null").collect()
}

pub(crate) fn named() -> Vec<&'static str> {
    std::iter::once("auto").chain(fullbore::strategy::NAMED.iter().map(|named| named.name)).collect()
}

/// Every named strategy, every access method, and `more` strategies.
pub(crate) fn strategies(more: &[&str]) -> Vec<String> {
    let methods = methods().into_iter().map(|method| format!("method={method}"));
    let named = named().into_iter().chain(more.iter().copied()).map(str::to_owned);
    named.chain(methods).collect()
}

/// As [`refused_method`], for any method that reads and writes.
pub(crate) fn refused(ended: &Finished) -> bool {
    methods().iter().any(|method| refused_method(ended, method))
}

/// True if the command reported a method as unavailable; it is then printed as skipped.
pub(crate) fn refused_method(ended: &Finished, method: &str) -> bool {
    let refused = ended.code() == 2 && ended.stderr.contains(&format!("cannot use: method {method}: "));
    if refused {
        println!("skipped: {}", ended.stderr.trim());
    }
    refused
}
