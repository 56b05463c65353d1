//! Runs a tool and its peer and compares the results.
//!
//! Peers are searched for in the directories of `FULLBORE_PEERS` (colon-separated) and in `PATH`. If a tool or a peer
//! is missing, the test is skipped with a message. A difference does not end a test: all of them are listed at its end.

use std::os::unix::process::CommandExt;

use crate::corpus::{CorpusFile, FileClass, PIPED};
use crate::support::*;

/// Maximum number of listed differences.
const LISTED: usize = 40;

/// The compared parts of a result: the exit code, the output, and messages.
type Compared = (i32, Vec<u8>, String);

/// The exit code, the output, and messages by a tool's name only: the peer that `setpriv` runs has its path as its name.
pub(crate) fn with_messages(ended: &Finished) -> Compared {
    let messages = ended.stderr.replace("fullbore wc", "wc");
    let name = messages.split(": ").next().unwrap_or_default();
    let path = name.rfind('/').map_or("", |slash| &name[..=slash]);
    (ended.code(), ended.stdout.clone(), messages.replace(path, ""))
}

/// A tool and its peer, which get the same arguments.
pub(crate) struct Pair {
    /// The subcommand, and flags that the peer does not need.
    tool: &'static str,
    pub(crate) peer: PathBuf,
    pub(crate) dir: TestDir,
    pub(crate) locale: &'static str,
    compared: fn(&Finished) -> Compared,
    pub(crate) differences: Vec<String>,
    /// True if both run without privileges, so that permissions apply.
    stripped: bool,
}

impl Pair {
    /// `None`, with the reason printed, if the peer is missing.
    pub(crate) fn new(tool: &'static str, peer: &str, dir: TestDir) -> Option<Self> {
        let found = find(peer).ok_or("it is not in FULLBORE_PEERS or PATH");
        let peer = or_skip(&format!("{tool} compared with {peer}"), found)?;
        let compared = |ended: &Finished| (ended.code(), ended.stdout.clone(), String::new());
        Some(Self { tool, peer, dir, locale: "C.UTF-8", compared, differences: Vec::new(), stripped: false })
    }

    /// Sets the compared parts, instead of the exit code and standard output.
    pub(crate) fn comparing(self, compared: fn(&Finished) -> Compared) -> Self {
        Self { compared, ..self }
    }

    /// Returns the commands of both, with space-separated flags and paths, in the directory.
    pub(crate) fn commands<P: AsRef<OsStr>>(&self, flags: &str, paths: &[P]) -> [Command; 2] {
        let ours: Vec<&str> = self.tool.split(' ').collect();
        [(binary(), ours), (self.peer.as_path(), Vec::new())].map(|(program, words)| {
            let mut command = if self.stripped { as_user(NOBODY, program) } else { Command::new(program) };
            if !self.stripped {
                // Messages begin with the name.
                command.arg0(program.file_name().unwrap());
            }
            command.args(words).args(flags.split_whitespace()).args(paths).current_dir(self.dir.path());
            command.env("XDG_CONFIG_HOME", NOWHERE).env("LC_ALL", self.locale).stdin(Stdio::null());
            command.env_remove("RIPGREP_CONFIG_PATH").env_remove("POSIXLY_CORRECT");
            command
        })
    }

    /// Runs both with flags and paths.
    pub(crate) fn paths<P: AsRef<OsStr>>(&mut self, flags: &str, paths: &[P]) {
        let shown: Vec<_> = paths.iter().map(AsRef::as_ref).collect();
        self.run_both(&format!("{flags} {shown:?}"), self.commands(flags, paths), run);
    }

    /// Runs both over a file of the corpus.
    pub(crate) fn file(&mut self, flags: &str, file: &CorpusFile) {
        let what = format!("{flags} {:?} ({})", file.name, file.what);
        let commands = self.commands(flags, &[plain_name(&file.name)]);
        self.run_both(&what, commands, |command| match file.sort {
            FileClass::Fifo => fed(&file.path, command),
            _ => run(command),
        });
    }

    /// Runs both over input from a pipe.
    pub(crate) fn pipe(&mut self, flags: &str, file: &CorpusFile) {
        let content = fs::read(&file.path).unwrap();
        let what = format!("{flags} < {:?} ({})", file.name, file.what);
        self.run_both(&what, self.commands(flags, &[""; 0]), |command| run_with(command, &content));
    }

    /// Runs both commands, and compares their results.
    pub(crate) fn run_both(
        &mut self,
        what: &str,
        mut commands: [Command; 2],
        run: impl FnMut(&mut Command) -> Finished,
    ) {
        let [ours, peer] = commands.each_mut().map(run);
        self.compare(what, &ours, &peer);
    }

    pub(crate) fn compare(&mut self, what: &str, ours: &Finished, peer: &Finished) {
        let [mine, theirs] = [ours, peer].map(self.compared);
        if mine == theirs {
            return;
        }
        let at = mine.1.iter().zip(&theirs.1).take_while(|(a, b)| a == b).count();
        let excerpt = |ended: &Finished, output: &[u8]| {
            let from = at.saturating_sub(20).min(output.len());
            let shown = String::from_utf8_lossy(&output[from..output.len().min(at + 60)]);
            let said: String = ended.stderr.chars().take(200).collect();
            format!("exit {}, {} bytes, at {from}: {shown:?} {said:?}", ended.code(), output.len())
        };
        let (mine, theirs) = (excerpt(ours, &mine.1), excerpt(peer, &theirs.1));
        let (tool, locale) = (self.tool, self.locale);
        self.differences.push(format!("{tool} {what}, {locale}\n  ours: {mine}\n  peer: {theirs}"));
    }

    /// Runs `look` with both programs running unprivileged; not if that is not possible.
    pub(crate) fn without_rights(&mut self, look: impl FnOnce(&mut Self)) {
        self.stripped = rustix::process::geteuid().is_root();
        let reachable = |path: &Path| {
            let status = as_user(NOBODY, "test".as_ref()).arg("-x").arg(path).status();
            status.is_ok_and(|status| status.success())
        };
        if self.stripped && !(has("setpriv") && reachable(binary()) && reachable(&self.peer)) {
            println!("skipped: {} of unreadable files: no setpriv, or programs out of reach", self.tool);
        } else {
            look(self);
        }
        self.stripped = false;
    }

    /// Fails if there were differences, and lists them.
    #[track_caller]
    pub(crate) fn end(self) {
        let count = self.differences.len();
        let listed = self.differences[..count.min(LISTED)].join("\n");
        assert!(count == 0, "{count} differences, of them the first {}:\n{listed}", count.min(LISTED));
    }
}

/// Finds the path of a peer.
fn find(name: &str) -> Option<PathBuf> {
    let all = ["FULLBORE_PEERS", "PATH"].map(|name| std::env::var_os(name).unwrap_or_default());
    let directories = all.iter().flat_map(std::env::split_paths).filter(|path| !path.as_os_str().is_empty());
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Returns a name that no program parses as a flag.
pub(crate) fn plain_name(name: &OsStr) -> OsString {
    match name.as_encoded_bytes().starts_with(b"-") {
        true => Path::new(".").join(name).into_os_string(),
        false => name.to_owned(),
    }
}

/// Runs a command while a thread writes to the fifo that it reads. A command that never opens the fifo does not block
/// the thread.
pub(crate) fn fed(fifo: &Path, command: &mut Command) -> Finished {
    use rustix::fs::{Mode, OFlags, open};
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                // Without blocking: this fails until there is a reader.
                if let Ok(writer) = open(fifo, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
                    let _ = File::from(writer).write_all(PIPED);
                    return;
                }
                sleep(Duration::from_millis(1));
            }
        });
        let result = run(command);
        ended.store(true, Ordering::Relaxed);
        result
    })
}
