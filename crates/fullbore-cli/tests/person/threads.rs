//! If the system allows only few or no threads, every command does its work with those it gets.

use crate::support::*;

/// A user without other processes: the limit counts processes per user.
const USER: u32 = 61234;

/// A directory that the user can work in, with the binary.
struct Place {
    dir: TestDir,
    binary: PathBuf,
    root: bool,
}

impl Place {
    /// `None`, with the reason printed, if no user with a limit is available.
    fn new() -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        if root {
            or_skip("a limit on threads, which does not apply to root", installed("setpriv"))?;
        }
        let dir = TestDir::open_to_all();
        let binary = dir.at("fullbore");
        copy_program(crate::support::binary(), &binary);
        let place = Self { dir, binary, root };
        place.fill();
        Some(place)
    }

    /// Creates small files, large ones, and directories.
    fn fill(&self) {
        let tree = self.dir.at("tree");
        for number in 0..40 {
            let directory = tree.join(format!("{}/{}", number % 5, number % 3));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(number.to_string()), format!("needle {number}\nhay\n")).unwrap();
        }
        let large = [&bytes(6_000_000, 1)[..], b"\nneedle\n", &bytes(6_000_000, 2)].concat();
        self.dir.file("large", &large);
        self.dir.file("same", &large);
        let names = ["tree", "large", "same"].map(|name| self.dir.at(name));
        let open = Command::new("chmod").arg("-R").arg("a+rwX").args(names).status().unwrap();
        assert!(open.success());
    }

    /// Returns a command of space-separated words as `run` in a shell, preceded by `setup`.
    fn command(&self, user: bool, setup: &str, words: &str) -> Command {
        let (binary, user) = (&self.binary, user && self.root);
        let mut command = if user { as_user(USER, binary) } else { Command::new(binary) };
        command.args(words.split(' ').map(|word| word.replace('_', " "))).current_dir(self.dir.path());
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{setup}; exec \"$@\""), "bash"]);
        wrapped(bash, command.env("XDG_CONFIG_HOME", NOWHERE))
    }
}

/// Commands with work for several threads; their output must not depend on the number of threads. `_` is a space in a word.
const COMMANDS: &str = include_str!("lines/of-many-threads.txt");

/// Runs each command as `limited` starts it with each limit, and compares its output with that of an unlimited run.
#[track_caller]
fn all_work<const N: usize>(place: &Place, limits: [u32; N], limited: impl Fn(u32, &str) -> Command) {
    for words in COMMANDS.lines() {
        let free = run(&mut place.command(false, ":", words));
        for limit in limits {
            let few = run(&mut limited(limit, words));
            assert!(!few.stderr.contains("panicked"), "{words:?}: {few}");
            // A preprocessor needs a process.
            let starved = few.code() == 2 && few.stderr.contains("Resource temporarily unavailable");
            if words.contains("--pre") && starved {
                continue;
            }
            assert_eq!(few.code(), free.code(), "{words:?}: {few}");
            assert!(words.starts_with("probe") || few.stdout == free.stdout, "{words:?}: {few}");
        }
    }
    for limit in limits {
        for words in ["copy large copied-0", "copy same copied-1"] {
            let target = place.dir.at(words.rsplit(' ').next().unwrap());
            run(&mut limited(limit, words)).succeeds();
            assert!(fs::read(&target).unwrap() == place.dir.read("large"));
            fs::remove_file(target).unwrap();
        }
        run(&mut limited(limit, "copy -r tree tree-copied")).succeeds();
        place.dir.shell("diff -r tree tree-copied").succeeds();
        fs::remove_dir_all(place.dir.at("tree-copied")).unwrap();
    }
}

#[test]
fn a_user_at_the_limit_of_processes() {
    let Some(place) = Place::new() else { return };
    all_work(&place, [1, 2, 3, 4, 5], |limit, words| {
        place.command(true, &format!("ulimit -u {limit}"), words)
    });
}

/// A test's own control group.
struct Group(PathBuf);

impl Group {
    fn new(pids: u32) -> Option<Self> {
        ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].iter().find_map(|root| {
            let path = Path::new(root).join(format!("fullbore-test-{}-{pids}", std::process::id()));
            fs::create_dir(&path).ok()?;
            let group = Self(path);
            fs::write(group.0.join("pids.max"), pids.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_with_few_threads() {
    let Some(place) = Place::new() else { return };
    let limits = [1, 2, 3, 4];
    let groups = limits.map(Group::new);
    if groups.iter().any(Option::is_none) {
        return println!("skipped: threads in a control group: no control group with pids.max");
    }
    all_work(&place, limits, |limit, words| {
        let group = &groups[limit as usize - 1].as_ref().unwrap().0;
        place.command(false, &format!("echo $$ > {}/cgroup.procs", group.display()), words)
    });
}
