//! Copying: `fullbore copy` beside `cp`.

use super::*;

use std::fs::File;

use crate::harness::directory::{create, free};
use crate::race::{Contender, same_bytes};

pub(super) const CASES: &[Case] = &[
    ("copy-new", "a cached file to a new one", |bench| plain(bench, false)),
    ("copy-verify", "with verification", verify),
    ("copy-tree", "a tree of many small files", tree),
    ("copy-reflink", "with blocks shared by the file system", reflink),
];

/// A contender that copies a file: its output is absent before and after a run, and was checked once.
fn copying<'a>(
    one: Contender<'a>,
    from: &'a Path,
    to: &'a Path,
    ready: impl Fn() -> Attempt<()> + 'a,
) -> Contender<'a> {
    one.prepare(move || ready().and_then(|()| states::fresh(to, from)))
        .check(move || match same_bytes(from, to)? {
            true => Ok(()),
            false => Err("the copy differs".into()),
        })
        .clear(|| states::remove(to))
}

/// As [`copying`], with shared blocks, which fill no memory.
fn sharing<'a>(one: Contender<'a>, from: &'a Path, to: &'a Path) -> Contender<'a> {
    copying(one, from, to, || Ok(())).prepare(move || states::absent(to))
}

/// Copies the text to a new file, by blocks, from the page cache or from the device.
pub(super) fn plain(bench: &mut Bench, cold: bool) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let [mine, theirs] = ["mine", "theirs"].map(|name| bench.place.path(name));
    let word = text.to_string_lossy();
    let ready = || states::cold_or_warm(&text, cold);
    let ours = bench.ours("copy", &["--reflink=never", &word, "mine"]);
    let cp = bench.peer("cp", &["--reflink=never", &word, "theirs"]);
    let (what, bound) = match cold {
        true => ("cold: copy to a new file ÷ cp", 1.0),
        false => ("copy to a new file ÷ cp --reflink=never", 0.70),
    };
    Race::new(&[Data::Text], bench.options.size)
        .shaped("fullbore copy", ours, |one| copying(one, &text, &mine, ready))
        .shaped("cp", cp, |one| copying(one, &text, &theirs, ready))
        .hold(what, "fullbore copy", "cp", Bound::AtMost(bound))
        .run(bench)
}

fn verify(bench: &mut Bench) -> Attempt<()> {
    const PLAIN: &str = "fullbore copy";
    const SYNCED: &str = "fullbore copy --sync data";
    const VERIFIED: &str = "fullbore copy --verify";
    let text = bench.place.of(Data::Text);
    let [plain, synced, verified] = ["plain", "synced", "verified"].map(|name| bench.place.path(name));
    let word = text.to_string_lossy();
    let ready = || states::warm(&text);
    let ours = |more: &[&str], to| bench.ours("copy", &[&["--reflink=never"], more, &[&*word, to]].concat());
    let [with, also, only] =
        [ours(&["--verify"], "verified"), ours(&["--sync", "data"], "synced"), ours(&[], "plain")];
    Race::new(&[Data::Text], bench.options.size)
        .shaped(VERIFIED, with, |one| copying(one, &text, &verified, ready))
        .shaped(SYNCED, also, |one| copying(one, &text, &synced, ready))
        .shaped(PLAIN, only, |one| copying(one, &text, &plain, ready))
        // Verified data is on the device; the plain copy is in memory, which is always faster.
        .hold("copy --verify ÷ copy --sync data", VERIFIED, SYNCED, Bound::AtMost(1.6))
        .hold("copy --verify ÷ copy", VERIFIED, PLAIN, Bound::AtMost(1.6))
        .run(bench)
}

fn tree(bench: &mut Bench) -> Attempt<()> {
    let crowd = bench.place.of(Data::Crowd);
    let [mine, theirs] = ["mine", "theirs"].map(|name| bench.place.path(name));
    let files = bench.options.files;
    // Copies are moved away, not removed: ext4 without a journal skips inodes freed within the last minutes one by one,
    // which took up to twenty times as long as the copying.
    let shape = |one: Contender<'static>, to: PathBuf| {
        let (crowd, copy) = (crowd.clone(), to.clone());
        let from = crowd.clone();
        let mut round = 0;
        one.prepare(move || {
            if to.exists() {
                round += 1;
                std::fs::rename(&to, to.with_extension(round.to_string()))?;
            }
            states::warm(&crowd).and_then(|()| states::absent(&to))
        })
        .check(move || whole(&from, &copy, files))
    };
    let cp = bench.peer("cp", &["-r", "crowd", "theirs"]);
    Race::new(&[Data::Crowd], 0)
        .shaped("fullbore copy -r", bench.ours("copy", &["-r", "crowd", "mine"]), |one| shape(one, mine))
        .shaped("cp -r", cp, |one| shape(one, theirs))
        .hold(
            &format!("copy of {files} small files ÷ cp -r"),
            "fullbore copy -r",
            "cp -r",
            Bound::AtMost(0.60),
        )
        .run(bench)
}

fn whole(from: &Path, to: &Path, files: usize) -> Attempt<()> {
    for name in crate::tree::names(files) {
        if !same_bytes(&from.join(&name), &to.join(&name))? {
            return Err(format!("the copy of {} differs", name.display()).into());
        }
    }
    Ok(())
}

fn reflink(bench: &mut Bench) -> Attempt<()> {
    const WHAT: &str = "copy with shared blocks";
    let tested = std::env::var_os("FULLBORE_TEST_DIRS").unwrap_or_default();
    let places: Vec<PathBuf> =
        std::iter::once(bench.options.common.dir.clone()).chain(std::env::split_paths(&tested)).collect();
    let mut found = false;
    for place in places.iter().filter(|place| !place.as_os_str().is_empty() && clones(place).unwrap_or(false))
    {
        found = true;
        let size = bench.options.size.min(free(place)? / 4);
        let directory = create(place, "tools", size, "give less --size")?;
        let [one, mine, theirs] = ["one", "mine", "theirs"].map(|name| directory.path().join(name));
        crate::text::plain(&one, size, bench.options.common.seed)?;
        let [from, to, beside] = [&one, &mine, &theirs].map(|path| path.to_string_lossy().into_owned());
        let kind = fullbore::probe::facts(&one)?
            .file_system
            .map_or_else(String::new, |system| system.kind.to_string());
        let ours = bench.ours("copy", &[&from, &to]).map(|line| CommandLine { answer: None, ..line });
        let cp = bench.peer("cp", &["--reflink=always", &from, &beside]);
        Race::new(&[], size)
            .shaped("fullbore copy", ours, |contender| sharing(contender, &one, &mine))
            .shaped("cp --reflink=always", cp, |contender| sharing(contender, &one, &theirs))
            .within(&format!("{WHAT}, {kind}"), "fullbore copy", Bound::AtMost(5.0))
            .run(bench)?;
    }
    if !found {
        let why = "neither --dir nor a directory of FULLBORE_TEST_DIRS can share blocks (scripts/file-systems makes some)";
        bench.findings.skip(WHAT, why);
    }
    Ok(())
}

/// True if files in a directory can share blocks: tries it.
fn clones(place: &Path) -> Attempt<bool> {
    let directory = tempfile::tempdir_in(place)?;
    let one = directory.path().join("one");
    std::fs::write(&one, vec![1; 1 << 16])?;
    let two = File::create_new(directory.path().join("two"))?;
    Ok(rustix::fs::ioctl_ficlone(two, File::open(one)?).is_ok())
}
