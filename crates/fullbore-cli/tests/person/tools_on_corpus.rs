//! Each tool and its peer over every difficult file: the same bytes on standard output, the same exit code.

use crate::corpus::{Corpus, CorpusFile, FileClass, huge, long_line};
use crate::peer::{Pair, fed, plain_name};
use crate::support::*;

/// Every file that can be read to its end in reasonable time by some user.
fn readable(corpus: &Corpus) -> Vec<CorpusFile> {
    corpus
        .files
        .iter()
        .filter(|file| !matches!(file.sort, FileClass::Huge | FileClass::Unreadable))
        .cloned()
        .collect()
}

#[test]
fn wc_counts_as_gnu_wc_does() {
    const FLAGS: [&[&str]; 10] =
        [&[], &["-c"], &["-m"], &["-l"], &["-w"], &["-L"], &["-lw"], &["-mL"], &["-clw"], &["-clmwL"]];
    let Some(mut pair) = Pair::new("wc", "wc") else { return };
    let files = readable(&pair.corpus);
    for locale in ["C", "C.UTF-8"] {
        let every = FLAGS.iter().flat_map(|flags| files.iter().map(move |file| (*flags, file)));
        for (flags, file) in fullbore_testkit::cases("wc on the corpus", 3, every) {
            pair.file(flags, flags, file, locale);
        }
        for file in files.iter().filter(|file| file.sort == FileClass::Plain) {
            pair.pipe(&["-clmwL"], &["-clmwL"], file, locale);
            pair.pipe(&["-lw", "-"], &["-lw", "-"], file, locale);
        }
        let names: Vec<OsString> = pair.corpus.plain().map(|file| plain_name(&file.name)).collect();
        let names: Vec<&OsStr> =
            names.iter().map(OsString::as_os_str).chain(["directory".as_ref(), "missing".as_ref()]).collect();
        let commands = pair.commands(&[], &[], &names, locale);
        pair.run_both(&format!("all files at once, {locale}"), commands);
        pair.without_rights(|pair, file| pair.file(&[], &[], file, locale));
    }
    let dir = pair.dir.path().to_owned();
    pair.file(&["-clmwL"], &["-clmwL"], &long_line(&dir), "C.UTF-8");
    if let Some(huge) = huge(&dir) {
        pair.file(&["-c"], &["-c"], &huge, "C.UTF-8");
    }
    pair.end();
}

#[test]
fn cmp_compares_as_gnu_cmp_does() {
    const FLAGS: [&[&str]; 8] = [
        &["-l"],
        &["-b"],
        &["-bl"],
        &["-s"],
        &["-n", "10"],
        &["-i", "3"],
        &["-i", "1:2", "-n", "70000"],
        &["-l", "-n", "5000"],
    ];
    let Some(mut pair) = Pair::new("cmp", "cmp") else { return };
    let files = readable(&pair.corpus);
    let plain: Vec<CorpusFile> = pair.corpus.plain().cloned().collect();
    let both = |pair: &mut Pair, flags: &[&str], one: &CorpusFile, two: &CorpusFile| {
        let names = [plain_name(&one.name), plain_name(&two.name)];
        let commands = pair.commands(flags, flags, &[&names[0], &names[1]], "C.UTF-8");
        pair.run_both(&format!("{flags:?} {:?} {:?}", one.name, two.name), commands);
    };
    let pairs = plain.iter().flat_map(|one| plain.iter().map(move |two| (one, two)));
    // The number of files must not be a multiple of the step: each is compared with others than in the row before.
    let step = if plain.len().is_multiple_of(3) { 4 } else { 3 };
    for (one, two) in fullbore_testkit::cases("cmp on the corpus", step, pairs) {
        both(&mut pair, &[], one, two);
    }
    for (turn, flags) in FLAGS.into_iter().enumerate() {
        // For each flag, each file is compared with others, near and far in the list.
        for (index, one) in plain.iter().enumerate() {
            for step in [0, 1 + turn, 11 + 3 * turn] {
                both(&mut pair, flags, one, &plain[(index + step) % plain.len()]);
            }
        }
    }
    let text = plain.iter().find(|file| file.name == "text").unwrap();
    for file in files.iter().filter(|file| !matches!(file.sort, FileClass::Plain | FileClass::Fifo)) {
        both(&mut pair, &[], file, text);
        both(&mut pair, &[], text, file);
    }
    for file in &plain {
        pair.pipe(&["-", "text"], &["-", "text"], file, "C.UTF-8");
        pair.pipe(&["text"], &["text"], file, "C.UTF-8");
    }
    pair.without_rights(|pair, file| {
        both(pair, &[], file, text);
    });
    if let Some(huge) = huge(pair.dir.path()) {
        both(&mut pair, &[], &huge, text);
        both(&mut pair, &[], text, &huge);
        both(&mut pair, &["-n", "3000000"], &huge, plain.iter().find(|file| file.name == "hole").unwrap());
    }
    pair.end();
}

#[test]
fn sum_matches_sha256sum() {
    sums("sha256", "sha256sum");
}

#[test]
fn sum_matches_b3sum() {
    sums("blake3", "b3sum");
}

fn sums(hash: &str, peer: &str) {
    let Some(mut pair) = Pair::new("sum", peer) else { return };
    let flags = ["-a", hash];
    // b3sum prints another name for names that are not UTF-8, and cannot check its own list then; this program keeps
    // the bytes, as documented.
    let told = |file: &CorpusFile| hash != "blake3" || file.name.to_str().is_some();
    for file in readable(&pair.corpus).iter().filter(|file| told(file)) {
        pair.file(&flags, &[], file, "C.UTF-8");
        pair.file(&["-a", hash, "--tag"], &["--tag"], file, "C.UTF-8");
        if file.sort == FileClass::Plain {
            pair.pipe(&flags, &[], file, "C.UTF-8");
            pair.pipe(&["-a", hash, "-"], &["-"], file, "C.UTF-8");
        }
    }
    let names: Vec<OsString> =
        pair.corpus.plain().filter(|file| told(file)).map(|file| plain_name(&file.name)).collect();
    let names: Vec<&OsStr> =
        names.iter().map(OsString::as_os_str).chain(["directory".as_ref(), "missing".as_ref()]).collect();
    let commands = pair.commands(&flags, &[], &names, "C.UTF-8");
    pair.run_both("all files at once", commands);
    pair.without_rights(|pair, file| pair.file(&flags, &[], file, "C.UTF-8"));
    pair.end();
}

#[test]
fn grep_matches_rg() {
    const FLAGS: [&[&str]; 24] = [
        &["-n", "the"],
        &["-c", "the"],
        &["-b", "the"],
        &["-nb", "-o", "s[a-z]+"],
        &["-n", "-A1", "line"],
        &["-n", "-B2", "end"],
        &["-C1", "text"],
        &["-c", "-v", "the"],
        &["-n", ""],
        &["-n", r"[a-z]+ing\s"],
        &["-n", r"\s$"],
        &["-n", "-x", "the text"],
        &["-n", "-w", "a"],
        &["-n", "-i", "THE"],
        &["-S", "The"],
        &["-l", "the"],
        &["--files-without-match", "the"],
        &["-m1", "-n", "o"],
        &["-a", "-n", r"(?-u:\xff)"],
        &["-a", "-c", r"\x00"],
        &["-F", "-n", "."],
        &["--count-matches", "o"],
        &["-U", "-n", r"e\n"],
        &["-n", "σ|é|語"],
    ];
    let Some(mut pair) = Pair::new("grep", "rg") else { return };
    let said = run(Command::new(&pair.peer).arg("--version")).text();
    let major =
        said.split_whitespace().nth(1).and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < 14) {
        println!(
            "skipped: grep compared with rg: it is {}, and results changed with 14",
            said.lines().next().unwrap_or("?")
        );
        return;
    }
    for flags in FLAGS {
        for file in readable(&pair.corpus) {
            pair.file(flags, flags, &file, "C.UTF-8");
        }
    }
    let plain: Vec<CorpusFile> = pair.corpus.plain().cloned().collect();
    for file in &plain {
        let flags: [&[&str]; 4] = [&["-a", "-n", "the"], &["-n", "the"], &["-c", "s"], &["-b", "line"]];
        for flags in flags {
            // The amount of a pipe that rg has read when it meets the NUL, and thus its output, is random.
            if flags[0] == "-a" || file.name != "nul-late" {
                pair.pipe(flags, flags, file, "C.UTF-8");
            }
        }
    }
    pair.without_rights(|pair, file| pair.file(&["-n", "the"], &["-n", "the"], file, "C.UTF-8"));
    let long = long_line(pair.dir.path());
    for flags in [&["-c", "singing"], &["-b", "-o"], &["-n", "the"]] {
        let flags: &[&str] = if flags[1] == "-o" { &["-b", "-o", "singing"] } else { flags };
        pair.file(flags, flags, &long, "C.UTF-8");
    }
    pair.end();
}

#[test]
fn copy_matches_cp() {
    let Some(mut pair) = Pair::new("copy", "cp") else { return };
    let mut files = readable(&pair.corpus);
    let dir = pair.dir.path().to_owned();
    files.extend(huge(&dir));
    for file in files {
        let name = plain_name(&file.name);
        let outputs = [dir.join("by-ours"), dir.join("by-peer")];
        let commands = pair.commands(&[], &[], &[&name], "C.UTF-8");
        let mut ended = Vec::new();
        for (mut command, output) in commands.into_iter().zip(&outputs) {
            command.arg(output);
            ended.push(if file.sort == FileClass::Fifo {
                fed(&file.path, &mut command)
            } else {
                run(&mut command)
            });
        }
        let what = format!("{:?} ({})", file.name, file.what);
        pair.compare(&what, &ended[0], &ended[1]);
        if let Some(why) = unlike(&outputs[0], &outputs[1], file.sort) {
            pair.differences.push(format!("copy {what}: {why}"));
        }
        for output in outputs {
            let _ = fs::remove_file(output);
        }
    }
    pair.without_rights(|pair, file| {
        let output = dir.join("by-nobody");
        let commands = pair.commands(&[], &[], &[&file.name, output.as_os_str()], "C.UTF-8");
        pair.run_both("what may not be read", commands);
        if output.exists() {
            pair.differences.push("copy made a file of what may not be read".into());
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
    if (mine.mode(), mine.len()) != (theirs.mode(), theirs.len()) {
        return Some(format!(
            "mode {:o}, {} bytes; by the peer {:o}, {}",
            mine.mode(),
            mine.len(),
            theirs.mode(),
            theirs.len()
        ));
    }
    // Delayed allocation: blocks not yet allocated are not counted, and a copy may end with some.
    if mine.blocks() > theirs.blocks() + 256 {
        return Some(format!("{} blocks; by the peer {}", mine.blocks(), theirs.blocks()));
    }
    if sort == FileClass::Huge {
        use std::os::unix::fs::FileExt;
        let middle = |path: &Path| {
            let mut found = [0; 10];
            fs::File::open(path).unwrap().read_exact_at(&mut found, 1 << 39).unwrap();
            found
        };
        return (middle(ours) != middle(peer)).then(|| "another middle".into());
    }
    (fs::read(ours).unwrap() != fs::read(peer).unwrap()).then(|| "other bytes".into())
}
