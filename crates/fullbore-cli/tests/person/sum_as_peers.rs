//! `sum` and the tools whose lists it prints and checks, case by case.

use crate::corpus::{Corpus, CorpusFile};
use crate::peer::Pair;
use crate::sum::{nasty, of, same};
use crate::support::*;

/// A sum by each algorithm, and its peer.
const PEERS: [(&str, &str); 5] = [
    ("sum -a blake3", "b3sum"),
    ("sum -a sha256", "sha256sum"),
    ("sum -a sha512", "sha512sum"),
    ("sum -a sha1", "sha1sum"),
    ("sum -a md5", "md5sum"),
];

/// Those of the peers that a shell finds.
fn peers() -> impl Iterator<Item = (&'static str, &'static str)> {
    PEERS.into_iter().filter(|(_, peer)| or_skip("comparing sums", installed(peer)).is_some())
}

#[test]
fn output_matches_the_peers() {
    for (tool, peer) in PEERS {
        let Some(mut pair) = Pair::new(tool, peer, TestDir::open_to_all()) else { continue };
        let corpus = Corpus::new(pair.dir.path());
        let mut names = nasty(&pair.dir);
        // b3sum prints another name for names that are not UTF-8, and cannot check its own list then; this program
        // keeps the bytes, as documented.
        let told = |file: &&CorpusFile| peer != "b3sum" || file.name.to_str().is_some();
        names.extend(corpus.plain().filter(told).map(|file| file.name.clone()));
        let options: &[&str] = match peer {
            "b3sum" => {
                &["", "--tag", "--no-names", "-l 5", "-l 100 --seek 7", "--derive-key person-2026-test"]
            }
            _ => &["", "-b", "-t", "-b -t", "--tag", "-z", "--tag -z"],
        };
        let more = ["", "--workers 1", "--workers 5", "--strategy request=4K", "--strategy method=mmap"];
        let every = options.iter().flat_map(|options| more.map(|more| (*options, more)));
        let reasons = ["missing: No such file or directory", "directory: Is a directory"];
        // The number of strategies is not a multiple of the step.
        for (options, more) in cases("sum with other strategies", 7, every) {
            let [mut ours, theirs] = pair.commands(options, &[""; 0]);
            ours.args(more.split_whitespace());
            pair.run_both(&format!("{more} {options}"), [ours, theirs], |command| {
                run(command.arg("--").args(&names)).fails(1, &reasons)
            });
        }
        for file in cases("sum on the corpus", 3, corpus.readable().filter(told)) {
            pair.file("", file);
            pair.file("--tag", file);
        }
        for file in cases("sum of pipes", 3, corpus.plain()) {
            pair.pipe("", file);
            pair.pipe("-", file);
        }
        pair.without_rights(|pair| pair.file("", corpus.unreadable()));
        pair.end();
    }
}

#[test]
fn pipes_and_standard_input_are_summed() {
    let dir = TestDir::new();
    let data = bytes(3_000_001, 4);
    dir.file("in", &data);
    for (tool, peer) in peers() {
        let theirs = run_with(&mut of(&dir, peer), &data);
        for words in ["", "-", "--workers 1", "--workers 4 -", "--strategy request=1000"] {
            let ours = run_with(&mut dir.command(&format!("{tool} {words}")), &data);
            same(&ours, &theirs, &format!("{peer} {words}"));
        }
        let zeros = "head -c 20000000 /dev/zero";
        let both = dir.shell(&format!(r#"{zeros} | "$0" {tool}; {zeros} | {peer}"#));
        let both = both.succeeds().text();
        let (ours, theirs) = both.split_once('\n').unwrap();
        assert_eq!(ours, theirs.trim_end());
        let line = format!(r#"{{ head -c 1000 >/dev/null; "$0" {tool}; }} < in"#);
        let rest = run_with(&mut of(&dir, peer), &data[1000..]);
        same(&dir.shell(&line), &rest, "what is left of standard input");
    }
    let pipe = dir.fifo("fifo");
    let ours = thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, &data).unwrap());
        let ended = dir.run("sum -a blake3,sha256 --workers 3 fifo fifo-is-not");
        ended.fails(1, &["fifo-is-not"]).text()
    });
    assert_eq!(ours.lines().count(), 2, "{ours}");
}

#[test]
fn trees_are_walked_in_the_order_of_their_paths() {
    let dir = TestDir::new();
    dir.directories(["tree/b/deep", "tree/b-c", "tree/.hidden", "tree/empty"]);
    let files = "tree/z tree/b/x tree/b/deep/er tree/b-c/y tree/b.txt tree/b0 tree/.hidden/h";
    for (seed, name) in files.split(' ').enumerate() {
        dir.file(name, bytes(5000 * seed, seed as u64));
    }
    fs::write(dir.path().join(OsStr::from_bytes(b"tree/\xff\xfe")), "broken").unwrap();
    for (target, link) in [("../b", "tree/b/link"), ("b", "tree/loop"), ("z", "tree/same")] {
        symlink(target, dir.at(link)).unwrap();
    }
    dir.fifo("tree/fifo");
    let wanted = dir.shell("find tree -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum").succeeds();
    for workers in ["1", "4"] {
        same(&dir.run(&format!("sum -a sha256 -r tree --workers {workers}")), &wanted, workers);
    }
    dir.run("sum tree").fails(1, &["tree: Is a directory"]);
    let followed = dir.run("sum -rL tree").fails(1, &["tree/b/link", "leads back"]);
    let text = String::from_utf8_lossy(&followed.stdout).into_owned();
    assert!(text.contains("  tree/same\n") && text.contains("  tree/loop/x\n"), "{text}");
    // Names that are not UTF-8 survive the way through a list.
    dir.file("list", dir.run("sum -r tree").succeeds().stdout);
    let checked = dir.run("sum -c list").succeeds().stdout;
    assert!(checked.windows(7).any(|window| window == b"\xff\xfe: OK\n"));
}

/// A list with every kind of line.
fn list(dir: &TestDir, peer: &str) -> Vec<u8> {
    let names = ["f", "back\\slash", "new\nline", "carriage\rreturn", "large"];
    let lines =
        |words: &str, names: &[&str]| run(of(dir, &format!("{peer} {words}")).args(names)).succeeds().stdout;
    let one = String::from_utf8(lines("", &["f"])).unwrap();
    let digits = one.split(' ').next().unwrap();
    let zeros = "0".repeat(digits.len());
    let mut list = [lines("", &names), lines("--tag", &names)].concat();
    if peer != "b3sum" {
        list.extend(lines("-b", &names[..1]));
        list.extend(format!("# a comment\n\n  {one}{digits}  f\r\n{}  f\n", digits.to_uppercase()).bytes());
    }
    let wrong = format!("junk\n{zeros}  f\n{zeros}  missing\n{zeros}  new\n{digits}  directory\n");
    list.extend(format!("{wrong}{}  f\n", &digits[1..]).bytes());
    list.extend(format!("\\{zeros}  miss\\ning\n\\{zeros}  bad\\escape\n{digits}  f").bytes());
    list
}

#[test]
fn lists_are_checked_as_the_peers_check_them() {
    let dir = TestDir::new();
    let names = ["f", "back\\slash", "new\nline", "carriage\rreturn", "large", "new"];
    for (seed, name) in names.into_iter().enumerate() {
        dir.file(name, bytes(if name == "large" { 3 << 20 } else { 10 * seed }, seed as u64));
    }
    dir.directories(["directory"]);
    for (tool, peer) in peers() {
        dir.file("list", list(&dir, peer));
        dir.file("good", run(of(&dir, peer).args(["f", "large", "back\\slash"])).succeeds().stdout);
        let one = run(of(&dir, peer).arg("f")).succeeds().text();
        dir.file("gone", one.replace("  f", "  gone"));
        dir.file("some", format!("{one}{}", one.replace("  f", "  gone")));
        dir.file("flawed", format!("{one}junk\n"));
        dir.file("junk", "junk\nmore\n");
        let options: &[&str] = match peer {
            "b3sum" => &["", "--quiet"],
            _ => &[
                "",
                "--quiet",
                "--status",
                "--strict",
                "-w",
                "--ignore-missing",
                "--ignore-missing --quiet --strict",
            ],
        };
        let lists = ["list", "good", "gone", "some", "flawed", "junk", "good list good"];
        let every = options.iter().flat_map(|options| lists.map(|lists| (*options, lists)));
        for (options, lists) in cases("checked lists", 5, every) {
            let what = format!("{peer} -c {options} {lists}");
            let theirs = run(&mut of(&dir, &what));
            for workers in ["1", "3"] {
                let words = format!("{tool} -c --workers {workers} {options} {lists}");
                let ours = dir.run(&words);
                same(&ours, &theirs, &what);
                if peer != "b3sum" {
                    // They quote names with control characters.
                    let told = |ended: &Finished| {
                        let said = ended.stderr.replace(peer, "fullbore");
                        let lines = said.lines();
                        let lines =
                            lines.filter(|line| line.contains("WARNING") || line.contains("checksum"));
                        lines.map(str::to_owned).collect::<Vec<_>>()
                    };
                    assert_eq!(told(&ours), told(&theirs), "{what}");
                }
            }
            // The algorithm of a list need not be named.
            let ours = dir.run(&format!("sum --check {options} {lists}"));
            same(&ours, &theirs, &format!("{what}, algorithm not said"));
        }
        for options in options {
            let list = dir.read("list");
            let theirs = run_with(&mut of(&dir, &format!("{peer} -c {options}")), &list);
            let ours = run_with(&mut dir.command(&format!("{tool} -c {options}")), &list);
            same(&ours, &theirs, &format!("{peer} -c {options} from a pipe"));
        }
    }
}

#[test]
fn a_pipe_that_a_list_names_is_read_once() {
    let dir = TestDir::new();
    dir.file("in", "piped");
    let line = r#"sha256sum <in | sed 's|-|/dev/stdin|' >list && "$0" sum --check list <in && cat in | "$0" sum --check list"#;
    let text = dir.shell(line).succeeds().text();
    assert_eq!(text, "/dev/stdin: OK\n/dev/stdin: OK\n");
}
