//! Each tool and its peer over every difficult file: the same bytes on standard output, the same exit code.

use crate::corpus::{Corpus, CorpusFile, FileClass, huge, long_line};
use crate::peer::{Pair, fed, plain_name};
use crate::support::*;

/// A tool and its peer in a directory with the corpus; `None` if the peer is missing.
fn pair(tool: &'static str, peer: &str) -> Option<(Pair, Corpus)> {
    let pair = Pair::new(tool, peer, TestDir::open_to_all())?;
    let corpus = Corpus::new(pair.dir.path());
    Some((pair, corpus))
}

/// The names of files, of a directory, and of a missing file.
fn with_missing<'f>(files: impl Iterator<Item = &'f CorpusFile>) -> Vec<OsString> {
    let more = ["directory", "missing"].map(OsString::from);
    files.map(|file| plain_name(&file.name)).chain(more).collect()
}

#[test]
fn cmp_compares_as_gnu_cmp_does() {
    const FLAGS: [&str; 8] = ["-l", "-b", "-bl", "-s", "-n 10", "-i 3", "-i 1:2 -n 70000", "-l -n 5000"];
    let Some((mut pair, corpus)) = pair("cmp", "cmp") else { return };
    let plain: Vec<&CorpusFile> = corpus.plain().collect();
    let both = |pair: &mut Pair, flags: &str, one: &CorpusFile, two: &CorpusFile| {
        pair.paths(flags, &[one, two].map(|file| plain_name(&file.name)));
    };
    let every = plain.iter().flat_map(|one| plain.iter().map(move |two| ("", *one, *two)));
    let mut pairs: Vec<_> = every.collect();
    for (turn, flags) in FLAGS.into_iter().enumerate() {
        // For each flag, each file is compared with others, near and far in the list.
        for (index, one) in plain.iter().enumerate() {
            let steps = [0, 1 + turn, 11 + 3 * turn];
            pairs.extend(steps.map(|step| (flags, *one, plain[(index + step) % plain.len()])));
        }
    }
    // The number of files must not be a multiple of the step: each is compared with others than in the row before.
    let step = if plain.len().is_multiple_of(7) { 8 } else { 7 };
    for (flags, one, two) in cases("cmp on the corpus", step, pairs) {
        both(&mut pair, flags, one, two);
    }
    let text = corpus.named("text");
    let others = corpus.readable().filter(|file| !matches!(file.sort, FileClass::Plain | FileClass::Fifo));
    for file in others {
        both(&mut pair, "", file, text);
        both(&mut pair, "", text, file);
    }
    for file in &plain {
        pair.pipe("- text", file);
        pair.pipe("text", file);
    }
    pair.without_rights(|pair| both(pair, "", corpus.unreadable(), text));
    if let Some(huge) = huge(pair.dir.path()) {
        both(&mut pair, "", &huge, text);
        both(&mut pair, "", text, &huge);
        both(&mut pair, "-n 3000000", &huge, corpus.named("hole"));
    }
    pair.end();
}

#[test]
fn sum_matches_sha256sum() {
    sums("sum -a sha256", "sha256sum");
}

#[test]
fn sum_matches_b3sum() {
    sums("sum -a blake3", "b3sum");
}

fn sums(tool: &'static str, peer: &str) {
    let Some((mut pair, corpus)) = pair(tool, peer) else { return };
    // b3sum prints another name for names that are not UTF-8, and cannot check its own list then; this program keeps
    // the bytes, as documented.
    let told = |file: &&CorpusFile| peer != "b3sum" || file.name.to_str().is_some();
    for file in corpus.readable().filter(told) {
        pair.file("", file);
        pair.file("--tag", file);
    }
    for file in corpus.plain().filter(told) {
        pair.pipe("", file);
        pair.pipe("-", file);
    }
    pair.paths("", &with_missing(corpus.plain().filter(told)));
    pair.without_rights(|pair| pair.file("", corpus.unreadable()));
    pair.end();
}

#[test]
fn grep_matches_rg() {
    const FLAGS: [&str; 24] = [
        "-n the",
        "-c the",
        "-b the",
        "-nb -o s[a-z]+",
        "-n -A1 line",
        "-n -B2 end",
        "-C1 text",
        "-c -v the",
        r"-n [a-z]+ing\s",
        r"-n \s$",
        "-n --regexp=",
        r"-n -x the\x20text",
        "-n -w a",
        "-n -i THE",
        "-S The",
        "-l the",
        "--files-without-match the",
        "-m1 -n o",
        r"-a -n (?-u:\xff)",
        r"-a -c \x00",
        "-F -n .",
        "--count-matches o",
        r"-U -n e\n",
        "-n σ|é|語",
    ];
    let Some((mut pair, corpus)) = pair("grep", "rg") else { return };
    let said = run(Command::new(&pair.peer).arg("--version")).text();
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    if version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_none_or(|major| major < 14) {
        return println!("skipped: grep compared with rg: it is {version}, and results changed with 14");
    }
    for file in corpus.readable() {
        for flags in FLAGS {
            pair.file(flags, file);
        }
    }
    for file in corpus.plain() {
        for flags in ["-a -n the", "-n the", "-c s", "-b line"] {
            // The amount of a pipe that rg has read when it meets the NUL, and thus its output, is random.
            if flags.starts_with("-a") || file.name != "nul-late" {
                pair.pipe(flags, file);
            }
        }
    }
    pair.without_rights(|pair| pair.file("-n the", corpus.unreadable()));
    let long = long_line(pair.dir.path());
    for flags in ["-c singing", "-b -o singing", "-n the"] {
        pair.file(flags, &long);
    }
    pair.end();
}

#[test]
fn copy_matches_cp() {
    let Some((mut pair, corpus)) = pair("copy", "cp") else { return };
    let dir = pair.dir.path().to_owned();
    for file in corpus.readable().cloned().chain(huge(&dir)) {
        let outputs = [dir.join("by-ours"), dir.join("by-peer")];
        let mut commands = pair.commands("", &[plain_name(&file.name)]);
        for (command, output) in commands.iter_mut().zip(&outputs) {
            command.arg(output);
        }
        let what = format!("{:?} ({})", file.name, file.what);
        pair.run_both(&what, commands, |command| match file.sort {
            FileClass::Fifo => fed(&file.path, command),
            _ => run(command),
        });
        if let Some(why) = unlike(&outputs[0], &outputs[1], file.sort) {
            pair.differences.push(format!("copy {what}: {why}"));
        }
        for output in outputs {
            let _ = fs::remove_file(output);
        }
    }
    pair.without_rights(|pair| {
        pair.paths("", &["unreadable", "by-nobody"]);
        if dir.join("by-nobody").exists() {
            pair.differences.push("copy made a file of an unreadable file".into());
        }
    });
    pair.end();
}

/// Returns the difference between two copies, if any: bytes, kind, mode, and blocks where holes should be.
fn unlike(ours: &Path, peer: &Path, sort: FileClass) -> Option<String> {
    let (mine, theirs) = match (fs::symlink_metadata(ours), fs::symlink_metadata(peer)) {
        (Ok(mine), Ok(theirs)) => (mine, theirs),
        (Err(_), Err(_)) => return None,
        (Ok(_), Err(_)) => return Some("made, and by the peer not".into()),
        (Err(error), Ok(_)) => return Some(format!("not made, and by the peer: {error}")),
    };
    let seen = |found: &fs::Metadata| format!("mode {:o}, {} bytes", found.mode(), found.len());
    if seen(&mine) != seen(&theirs) {
        return Some(format!("{}; by the peer {}", seen(&mine), seen(&theirs)));
    }
    // Delayed allocation: blocks not yet allocated are not counted, and a copy may end with some.
    if mine.blocks() > theirs.blocks() + 256 {
        return Some(format!("{} blocks; by the peer {}", mine.blocks(), theirs.blocks()));
    }
    if sort == FileClass::Huge {
        let middle = |path: &Path| {
            let mut found = [0; 10];
            File::open(path).unwrap().read_exact_at(&mut found, 1 << 39).unwrap();
            found
        };
        return (middle(ours) != middle(peer)).then(|| "another middle".into());
    }
    (fs::read(ours).unwrap() != fs::read(peer).unwrap()).then(|| "other bytes".into())
}
