//! Runs a tool and its peer and compares the results.
//!
//! Peers are searched for in the directories of `FULLBORE_PEERS` (colon-separated) and in `PATH`. If a tool or a peer
//! is missing, the test is skipped with a message. A difference does not end a test: all of them are listed at its end.

use crate::support::*;
use std::fmt::Write as _;
use std::io::Write as _;

use crate::corpus::{Corpus, CorpusFile, FileClass, PIPED};

/// Maximum number of listed differences.
const LISTED: usize = 40;

/// A tool and its peer.
pub(crate) struct Pair {
    tool: &'static str,
    pub(crate) peer: PathBuf,
    pub(crate) dir: TestDir,
    pub(crate) corpus: Corpus,
    pub(crate) differences: Vec<String>,
    /// True if both run without privileges, so that permissions apply.
    stripped: bool,
}

impl Pair {
    /// `None`, with the reason printed, if one of the two is missing.
    pub(crate) fn new(tool: &'static str, peer: &str) -> Option<Self> {
        if run(&mut fullbore([tool, "--help"])).code() != 0 {
            println!("skipped: {tool} compared with {peer}: no subcommand {tool}");
            return None;
        }
        let Some(peer) = find(peer) else {
            println!("skipped: {tool} compared with {peer}: no {peer} in FULLBORE_PEERS or PATH");
            return None;
        };
        let dir = TestDir::open_to_all();
        let corpus = Corpus::new(dir.path());
        Some(Self { tool, peer, dir, corpus, differences: Vec::new(), stripped: false })
    }

    /// Returns the commands of both, with their flags and the same paths, in the directory.
    pub(crate) fn commands(
        &self,
        flags: &[&str],
        theirs: &[&str],
        paths: &[&OsStr],
        locale: &str,
    ) -> [Command; 2] {
        let ours: Vec<&OsStr> =
            [self.tool].into_iter().chain(flags.iter().copied()).map(OsStr::new).collect();
        let words = [
            (Path::new(env!("CARGO_BIN_EXE_fullbore")), ours),
            (&*self.peer, theirs.iter().map(OsStr::new).collect()),
        ];
        words.map(|(program, words)| {
            let mut command = match self.stripped {
                true => Command::new("setpriv"),
                false => Command::new(program),
            };
            if self.stripped {
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
            }
            command.args(words).args(paths).current_dir(self.dir.path()).stdin(Stdio::null());
            command
                .env("XDG_CONFIG_HOME", "/nonexistent")
                .env("LC_ALL", locale)
                .env_remove("RIPGREP_CONFIG_PATH");
            command
        })
    }

    /// Runs both over a file of the corpus.
    pub(crate) fn file(&mut self, flags: &[&str], theirs: &[&str], file: &CorpusFile, locale: &str) {
        let name = plain_name(&file.name);
        let [mut ours, mut peer] = self.commands(flags, theirs, &[&name], locale);
        let (ours, peer) = match file.sort {
            FileClass::Fifo => (fed(&file.path, &mut ours), fed(&file.path, &mut peer)),
            _ => (run(&mut ours), run(&mut peer)),
        };
        self.compare(&format!("{flags:?} {:?} ({}), {locale}", file.name, file.what), &ours, &peer);
    }

    /// Runs both over input from a pipe.
    pub(crate) fn pipe(&mut self, flags: &[&str], theirs: &[&str], file: &CorpusFile, locale: &str) {
        let content = fs::read(&file.path).unwrap();
        let [mut ours, mut peer] = self.commands(flags, theirs, &[], locale);
        let (ours, peer) = (run_with(&mut ours, &content), run_with(&mut peer, &content));
        self.compare(&format!("{flags:?} < {:?} ({}), {locale}", file.name, file.what), &ours, &peer);
    }

    /// Records a difference between the two results.
    pub(crate) fn compare(&mut self, what: &str, ours: &Finished, peer: &Finished) {
        if ours.code() == peer.code() && ours.stdout == peer.stdout {
            return;
        }
        let excerpt = |ended: &Finished| {
            let at = ours.stdout.iter().zip(&peer.stdout).take_while(|(a, b)| a == b).count();
            let from = at.saturating_sub(20).min(ended.stdout.len());
            let shown = &ended.stdout[from..ended.stdout.len().min(at + 60)];
            let said: String = ended.stderr.chars().take(200).collect();
            format!(
                "exit {}, {} bytes, at {from}: {:?} {said:?}",
                ended.code(),
                ended.stdout.len(),
                String::from_utf8_lossy(shown)
            )
        };
        self.differences.push(format!(
            "{} {what}\n  ours: {}\n  peer: {}",
            self.tool,
            excerpt(ours),
            excerpt(peer)
        ));
    }

    /// Runs `look` over files that are unreadable without privileges, with both running unprivileged.
    pub(crate) fn without_rights(&mut self, look: impl FnOnce(&mut Self, &CorpusFile)) {
        let Some(file) = self.corpus.files.iter().find(|file| file.sort == FileClass::Unreadable).cloned()
        else {
            return;
        };
        self.stripped = rustix::process::geteuid().is_root();
        let reachable = |path: &Path| {
            Command::new("setpriv")
                .args(["--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x"])
                .arg(path)
                .status()
                .is_ok_and(|status| status.success())
        };
        if self.stripped
            && !(has("setpriv")
                && reachable(env!("CARGO_BIN_EXE_fullbore").as_ref())
                && reachable(&self.peer))
        {
            println!(
                "skipped: {} of what may not be read: setpriv or the programs are out of reach without rights",
                self.tool
            );
            self.stripped = false;
            return;
        }
        look(self, &file);
        self.stripped = false;
    }

    /// Runs both commands, and compares their results.
    pub(crate) fn run_both(&mut self, what: &str, commands: [Command; 2]) {
        let [ours, peer] = commands.map(|mut command| run(&mut command));
        self.compare(what, &ours, &peer);
    }

    /// Fails if there were differences, and lists them.
    #[track_caller]
    pub(crate) fn end(self) {
        let count = self.differences.len();
        let mut text = String::new();
        for difference in self.differences.iter().take(LISTED) {
            let _ = writeln!(text, "{difference}");
        }
        assert!(count == 0, "{count} differences, of them the first {}:\n{text}", count.min(LISTED));
    }
}

/// Finds the path of a peer.
fn find(name: &str) -> Option<PathBuf> {
    let [first, then] = ["FULLBORE_PEERS", "PATH"].map(|name| std::env::var_os(name).unwrap_or_default());
    let all: Vec<PathBuf> = std::env::split_paths(&first).chain(std::env::split_paths(&then)).collect();
    all.iter()
        .filter(|directory| !directory.as_os_str().is_empty())
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
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
                    let _ = fs::File::from(writer).write_all(PIPED);
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = run(command);
        ended.store(true, Ordering::Relaxed);
        result
    })
}
