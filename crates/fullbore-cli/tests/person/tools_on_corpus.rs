//! `cmp`, `copy` and their peers over every difficult file: the same bytes on standard output, the same exit code.

use crate::cmp_as_gnu::corpus_beside_peer;
use crate::corpus::{Corpus, FileClass, huge};
use crate::peer::{Pair, fed, plain_name, with_messages};
use crate::support::*;

#[test]
fn cmp_compares_as_gnu_cmp_does() {
    let options =
        "-l|-b|-bl|-s|-n 10|-i 3|-i 1:2 -n 70000|-l -n 5000|-n 4|-n 5 -l|-i 1|-i 3:4|-i 4:0 -n 2|-s -n 4";
    let Some(dir) = corpus_beside_peer() else { return };
    // Readable without privileges.
    dir.set_mode("", 0o755);
    let Some(pair) = Pair::new("cmp", "cmp", dir) else { return };
    // Messages have control characters of names, and of broken UTF-8, as escapes.
    let mut pair = pair.comparing(|ended| {
        let (code, output, messages) = with_messages(ended);
        (code, output, messages.replace("\\u0007", "\u{7}").replace("\\u0082", ""))
    });
    let corpus = Corpus::new(pair.dir.path());
    let plain: Vec<OsString> = corpus.plain().map(|file| plain_name(&file.name)).collect();
    let small = "a b short part empty other all none link hard dir missing";
    let small: Vec<OsString> = small.split(' ').map(OsString::from).collect();
    let mut pairs = Vec::new();
    for (flags, names) in [("", &plain)].into_iter().chain(options.split('|').map(|flags| (flags, &small))) {
        pairs.extend(names.iter().flat_map(|one| names.iter().map(move |two| (flags, [one, two]))));
    }
    for (turn, flags) in options.split('|').enumerate() {
        // For each flag, each file is compared with others, near and far in the list.
        for (index, one) in plain.iter().enumerate() {
            let steps = [0, 1 + turn, 11 + 3 * turn];
            pairs.extend(steps.map(|step| (flags, [one, &plain[(index + step) % plain.len()]])));
        }
    }
    // The number of files must not be a multiple of the step: each is compared with others than in the row before.
    let step = if plain.len().is_multiple_of(13) { 14 } else { 13 };
    for (flags, names) in cases("cmp on the corpus", step, pairs) {
        pair.paths(flags, &names);
    }
    let text = &corpus.named("text").name;
    for file in corpus.readable().filter(|file| !matches!(file.sort, FileClass::Plain | FileClass::Fifo)) {
        pair.paths("", &[&file.name, text]);
        pair.paths("", &[text, &file.name]);
    }
    for file in cases("cmp of pipes", 3, corpus.plain()) {
        pair.pipe("- text", file);
        pair.pipe("text", file);
    }
    pair.without_rights(|pair| pair.paths("", &["unreadable", "text"]));
    if huge(pair.dir.path()).is_some() {
        pair.paths("", &["huge", "text"]);
        pair.paths("", &["text", "huge"]);
        pair.paths("-n 3000000", &["huge", "hole"]);
    }
    pair.end();
}

#[test]
fn copy_matches_cp() {
    let Some(mut pair) = Pair::new("copy", "cp", TestDir::open_to_all()) else { return };
    let dir = pair.dir.path().to_owned();
    for file in Corpus::new(&dir).readable().cloned().chain(huge(&dir)) {
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
