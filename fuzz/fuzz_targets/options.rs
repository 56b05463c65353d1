//! Every combination of options on every kind of path, compared with their documentation: which opens succeed, the
//! resulting content of the directory, and no change by a rejected open.
#![no_main]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::Path;

use arbitrary::Arbitrary;
use fullbore::error::ErrorKind;
use fullbore::file::{Access, Durability, File, Hint, Mode, OpenOptions, Share, Support};
use libfuzzer_sys::fuzz_target;

const OLD: &[u8] = b"the old content";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
enum Target {
    Regular,
    Missing,
    Link,
    Dangling,
    Directory,
    NoDirectory,
    Empty,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Room {
    Some(u16),
    TooMuch(u16),
    Most,
}

#[derive(Debug, Arbitrary)]
struct Case {
    target: Target,
    mode: u8,
    access: Option<u8>,
    permissions: u32,
    share: Option<u8>,
    /// Sharing mode of another open handle.
    held: Option<u8>,
    locking: Option<bool>,
    hints: Vec<u8>,
    through: Option<u8>,
    delete: bool,
    room: Option<Room>,
    follow: Option<bool>,
    strict: bool,
}

fn share(bits: u8) -> Share {
    [(1, Share::READ), (2, Share::WRITE), (4, Share::DELETE)]
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(Share::NONE, |sum, (_, share)| sum | share)
}

/// Returns each name in the directory with its kind and content; links are not followed.
fn state(directory: &Path) -> BTreeMap<String, String> {
    let look = |path: &Path| {
        let kind = path.symlink_metadata().expect("a listed file").file_type();
        match (kind.is_file(), kind.is_symlink()) {
            (true, _) => format!("{:?}", std::fs::read(path).expect("a readable file")),
            (_, true) => format!("link to {:?}", std::fs::read_link(path).expect("a link").file_name()),
            _ => "directory".to_owned(),
        }
    };
    let names =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    names
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), look(&path)))
        .collect()
}

fn run(case: &Case) {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("file"), OLD).expect("a file");
    std::fs::create_dir(at("directory")).expect("a directory");
    std::os::unix::fs::symlink(at("file"), at("link")).expect("a link");
    std::os::unix::fs::symlink(at("nothing"), at("dangling")).expect("a link");
    let path = match case.target {
        Target::Regular => at("file"),
        Target::Missing => at("missing"),
        Target::Link => at("link"),
        Target::Dangling => at("dangling"),
        Target::Directory => at("directory"),
        Target::NoDirectory => at("none/file"),
        Target::Empty => std::path::PathBuf::new(),
    };

    let mode = [
        Mode::Open,
        Mode::CreateOrTruncate,
        Mode::CreateNew,
        Mode::Truncate,
        Mode::OpenOrCreate,
        Mode::Append,
    ][usize::from(case.mode % 6)];
    let accesses = [Access::Read, Access::Write, Access::ReadWrite];
    let requested = case.access.map(|access| accesses[usize::from(access % 3)]);
    let access = requested.unwrap_or(match mode {
        Mode::Open => Access::Read,
        Mode::Append => Access::Write,
        _ => Access::ReadWrite,
    });
    let room = case.room.map_or(0, |room| match room {
        Room::Some(bytes) => u64::from(bytes),
        Room::TooMuch(more) => (1 << 63) + u64::from(more),
        Room::Most => u64::MAX,
    });
    let hints = [Hint::Sequential, Hint::Random, Hint::WillNeed, Hint::NoReuse];
    let hints: Vec<Hint> = case.hints.iter().take(5).map(|hint| hints[usize::from(hint % 4)]).collect();
    let follow = case.follow.unwrap_or(true);
    let locking = case.locking.unwrap_or(true);

    let mut options = OpenOptions::new();
    // The owner must be able to read the files for the checks below.
    options.mode(mode).permissions(case.permissions | 0o600).delete_on_close(case.delete);
    options.reserve(room).follow_symlinks(follow).locking(locking).strict(case.strict);
    if let Some(access) = requested {
        options.access(access);
    }
    if let Some(bits) = case.share {
        options.share(share(bits));
    }
    for &hint in &hints {
        options.hint(hint);
    }
    let through = [Durability::None, Durability::Data, Durability::Full];
    let through = case.through.map_or(Durability::None, |through_| through[usize::from(through_ % 3)]);
    options.write_through(through);

    let holder = case
        .held
        .map(|bits| OpenOptions::new().share(share(bits)).open(at("file")).expect("no other handle is open"));
    let before = state(directory.path());
    let opened = options.open(&path);
    let after = state(directory.path());

    // The documented effects of the options.
    let makes = matches!(mode, Mode::CreateOrTruncate | Mode::CreateNew | Mode::OpenOrCreate | Mode::Append);
    let empties = matches!(mode, Mode::CreateOrTruncate | Mode::CreateNew | Mode::Truncate);
    let writes = access != Access::Read;
    let invalid = ((empties || mode == Mode::Append) && !writes)
        || (room > 0 && !matches!(mode, Mode::CreateOrTruncate | Mode::CreateNew))
        || i64::try_from(room).is_err();
    let stands = matches!(case.target, Target::Regular | Target::Link);
    let linked = matches!(case.target, Target::Link | Target::Dangling);
    let possible = match case.target {
        Target::Empty | Target::NoDirectory => false,
        Target::Directory => !writes && !makes,
        Target::Missing => makes,
        Target::Dangling => makes && mode != Mode::CreateNew && follow,
        Target::Regular => mode != Mode::CreateNew,
        Target::Link => mode != Mode::CreateNew && follow,
    };
    let against = match (case.share, case.held) {
        (Some(ours), Some(theirs)) if stands && locking => ours % 8 == 0 || theirs % 8 == 0,
        _ => false,
    };

    let file = match opened {
        Err(error) => {
            assert_eq!(invalid, error.kind() == ErrorKind::Invalid, "{case:?}: {error}");
            let refused = case.strict && error.kind() == ErrorKind::Unsupported;
            assert!(invalid || !possible || against || refused, "{case:?}: {error}");
            assert!(error.to_string().contains("cannot"), "{case:?}: {error}");
            assert_eq!(before, after, "{case:?}: {error}");
            return;
        }
        Ok(file) => file,
    };
    assert!(!invalid && possible && !against, "{case:?} was opened");

    // The report has a line for each requested option, and no others.
    let lines = file.option_report();
    let count = |start: &str| lines.iter().filter(|line| line.option.starts_with(start)).count();
    assert_eq!(count("share="), usize::from(case.share.is_some()), "{case:?}: {lines:?}");
    assert_eq!(count("hint="), hints.len(), "{case:?}: {lines:?}");
    assert_eq!(count("reserve"), usize::from(room > 0), "{case:?}: {lines:?}");
    assert_eq!(count("write-through="), usize::from(through != Durability::None), "{case:?}: {lines:?}");
    assert_eq!(count("mode=append"), usize::from(mode == Mode::Append), "{case:?}: {lines:?}");
    assert_eq!(count("delete-on-close"), usize::from(case.delete), "{case:?}: {lines:?}");
    assert_eq!(count("follow-symlinks=no"), usize::from(!follow), "{case:?}: {lines:?}");
    let refused = lines.iter().any(|line| matches!(line.support, Support::Unsupported(_)));
    assert!(!case.strict || !refused, "{case:?}: {lines:?}");

    let name = match case.target {
        Target::Link => "file",
        Target::Dangling => "nothing",
        Target::Missing => "missing",
        Target::Directory => "directory",
        _ => "file",
    };
    if case.target != Target::Directory {
        used(&file, access, mode, if stands && !empties { OLD } else { b"" }, &at(name), case);
    } else {
        assert!(file.read_at(&mut [0; 8], 0).is_err(), "a directory was read");
    }
    drop(file);
    drop(holder);

    // Only the deleted name is missing: the name that was opened, even if it is a link.
    let last = state(directory.path());
    let mut expected: Vec<&str> = before.keys().map(String::as_str).collect();
    if !expected.contains(&name) {
        expected.push(name);
    }
    let opened = path.file_name().expect("a named path").to_string_lossy().into_owned();
    if case.delete && case.target != Target::Directory && !(linked && !follow) {
        expected.retain(|name| *name != opened);
    }
    expected.sort_unstable();
    assert_eq!(last.keys().map(String::as_str).collect::<Vec<_>>(), expected, "{case:?}");
}

/// Reads and writes the opened file as `access` and `mode` promise, and checks the results.
fn used(file: &File, access: Access, mode: Mode, old: &[u8], path: &Path, case: &Case) {
    assert_eq!(file.stamp().expect("a length").len, old.len() as u64, "{case:?}");
    let mut model = old.to_vec();
    match (access, file.write_all_at(b"new", 2)) {
        (Access::Read, result) => assert!(result.is_err(), "{case:?}: written"),
        (_, Err(error)) => panic!("{case:?}: {error}"),
        (_, Ok(())) => {
            let at = if mode == Mode::Append { old.len() } else { 2 };
            model.resize(model.len().max(at + 3), 0);
            model[at..at + 3].copy_from_slice(b"new");
        }
    }
    assert_eq!(std::fs::read(path).expect("a file"), model, "{case:?}");
    let mut read = vec![0; model.len()];
    match (access, file.read_exact_at(&mut read, 0)) {
        (Access::Write, result) => assert!(result.is_err() || model.is_empty(), "{case:?}: read"),
        (_, Err(error)) => panic!("{case:?}: {error}"),
        (_, Ok(())) => assert_eq!(read, model, "{case:?}"),
    }
}

fuzz_target!(|case: Case| run(&case));
