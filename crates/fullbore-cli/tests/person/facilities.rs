//! Facilities that the machine may lack: users without rights, mounts, tracing, and the tools that this program replaces.

use std::sync::OnceLock;

use crate::support::*;
pub(crate) use fullbore_testkit::mounts::Mount;
pub(crate) use fullbore_testkit::processes::{copy_program, traced, wrapped};

/// A user without rights and files.
pub(crate) const NOBODY: u32 = 65534;

/// Returns a command that runs a program as a user.
pub(crate) fn as_user(user: u32, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]).arg("--clear-groups").arg(program);
    command
}

/// The command run by an unprivileged user.
pub(crate) struct Unprivileged(Option<tempfile::TempDir>);

impl Unprivileged {
    /// `None`, with the reason printed, if privileges cannot be dropped.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return Some(Self(None));
        }
        or_skip("without privileges", installed("setpriv"))?;
        // The build may be in a directory that only root can search.
        let copy = tempfile::tempdir().unwrap();
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(binary(), &copy.path().join("fullbore"));
        Some(Self(Some(copy)))
    }

    pub(crate) fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let Some(copy) = &self.0 else { return fullbore(arguments) };
        let mut command = as_user(NOBODY, &copy.path().join("fullbore"));
        command.args(arguments).env("XDG_CONFIG_HOME", NOWHERE).stdin(Stdio::null());
        command
    }

    /// Runs the command with space-separated words in a directory.
    #[track_caller]
    pub(crate) fn run(&self, dir: &TestDir, words: &str) -> Finished {
        run(self.command(words.split(' ')).current_dir(dir.path()))
    }
}

/// A path with an attribute of `chattr(1)` until it is dropped: not even root could remove it.
struct Attributed<'p>(&'p Path, &'p str);

impl Attributed<'_> {
    fn change(&self, sign: char) -> bool {
        let said = Command::new("chattr").arg(format!("{sign}{}", self.1)).arg(self.0).output();
        said.is_ok_and(|said| said.status.success())
    }
}

impl Drop for Attributed<'_> {
    fn drop(&mut self) {
        self.change('-');
    }
}

/// Runs `action` while a path has an attribute of `chattr(1)`: immutable `i`, append-only `a`; `None`, with the reason
/// printed, if it cannot have it.
pub(crate) fn while_attributed<T>(path: &Path, attribute: &str, action: impl FnOnce() -> T) -> Option<T> {
    let attributed = Attributed(path, attribute);
    or_skip("attributes of files", attributed.change('+').then_some(()).ok_or("chattr failed"))?;
    Some(action())
}

/// Returns the value of an access control list: tags, rights, and users or groups.
#[cfg(target_os = "linux")]
pub(crate) fn access_list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry = |(tag, rights, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
}

/// The reason if the tests do not run as root.
pub(crate) fn root() -> Result<(), String> {
    rustix::process::geteuid().is_root().then_some(()).ok_or_else(|| "needs root".to_owned())
}

/// Mounts a file system of `len` bytes that a program makes in `image`.
pub(crate) fn mount_image(make: &str, image: &Path, len: u64, place: &Path) -> Result<Mount, String> {
    root()?;
    let (program, options) = make.split_once(' ').unwrap();
    installed(program)?;
    fs::File::create(image).unwrap().set_len(len).unwrap();
    let mut make = Command::new(program);
    make.args(options.split(' ')).arg(image).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    run(&mut make).succeeds();
    Mount::new(&["-o", "loop", image.to_str().unwrap()], place)
}

/// Mounts a file system whose files can share blocks in a directory of a test; `None`, with the reason printed, if that is not
/// possible.
pub(crate) fn mount_sharing(dir: &TestDir, place: &str) -> Option<Mount> {
    let made = mount_image("mkfs.xfs -q -m reflink=1", &dir.at("image"), 400 << 20, &dir.at(place));
    or_skip("sharing blocks", made)
}

/// Returns a command with an empty `/proc`; `None`, with the reason printed, if that is not possible.
pub(crate) fn without_proc(command: &Command) -> Option<Command> {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    let hidden = || {
        let mut hidden = Command::new("unshare");
        hidden.args(["-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]);
        hidden
    };
    let possible = || hidden().arg("true").status().is_ok_and(|status| status.success());
    let possible = root().is_ok() && *POSSIBLE.get_or_init(possible);
    or_skip("without /proc", possible.then_some(()).ok_or("unshare and mount need root"))?;
    Some(wrapped(hidden(), command))
}

/// Returns a directory in which this program has the names of tools; it is kept for later runs.
fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tools");
        fs::create_dir_all(&place).unwrap();
        for name in ["cksum", "cmp", "cp", "md5sum", "b2sum", "sha256sum", "wc"] {
            let link = place.join(name);
            if fs::read_link(&link).is_ok_and(|found| found == binary()) {
                continue;
            }
            let _ = fs::remove_file(&link);
            symlink(binary(), link).unwrap();
        }
        place
    })
}

/// Runs a shell line in a directory with the binary as `$0`. `ours`: this program replaces the tools.
#[track_caller]
pub(crate) fn line_of_tools(place: &Path, text: &str, ours: bool, locale: &str) -> Finished {
    let mut command = Command::new("bash");
    command.args(["-c", text]).arg(binary()).current_dir(place).stdin(Stdio::null());
    command.env("LC_ALL", locale).env("XDG_CONFIG_HOME", NOWHERE);
    for name in ["VERSION_CONTROL", "SIMPLE_BACKUP_SUFFIX", "POSIXLY_CORRECT"] {
        command.env_remove(name);
    }
    if ours {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [tools().to_owned()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).unwrap());
    }
    run(&mut command)
}

/// Asserts that this program and the tools answer each line of a shell, in its locale, with the same outputs and exit code.
#[track_caller]
pub(crate) fn assert_alike<L: AsRef<str>>(dir: &TestDir, lines: impl IntoIterator<Item = (&'static str, L)>) {
    let mut different = Vec::new();
    for (locale, line) in lines {
        let line = line.as_ref();
        let [ours, theirs] = [true, false].map(|ours| line_of_tools(dir.path(), line, ours, locale));
        if (ours.code(), &ours.stdout, &ours.stderr) != (theirs.code(), &theirs.stdout, &theirs.stderr) {
            different.push(format!("{locale} {line}"));
            for (whose, ended) in [("ours", ours), ("theirs", theirs)] {
                let out: String = ended.stdout.escape_ascii().to_string().chars().take(2000).collect();
                different.push(format!("  {whose}: {ended}, output: {out}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// True if the first line that a tool prints about its version begins with one of these texts; otherwise the test is
/// reported as skipped.
pub(crate) fn is_version(tool: &str, versions: &[&str]) -> bool {
    let said = Command::new(tool).arg("--version").output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    let known = versions.iter().any(|version| said.starts_with(version));
    if !known {
        println!("skipped: comparing with {tool}: it is {:?}", said.lines().next().unwrap_or_default());
    }
    known
}
