//! The tools that read: each beside its peers, with the input in the page cache or, verified, not.

use super::*;

use std::collections::HashSet;

use super::copy;
use crate::commands::LOCALE;
use crate::race::OutputCheck;

pub(super) const CACHED: &[Case] = &[
    ("wc-default", "lines, words and bytes of a cached text", wc_default),
    ("wc-c", "the same in the C locale", |bench| {
        Versus { what: "wc, LC_ALL=C ÷ GNU wc", locale: "C", bound: 1.0 / 25.0, ..WC }.run(bench)
    }),
    ("wc-utf8", "a UTF-8 text of which a fifth of the characters is not ASCII", |bench| {
        let what = "wc of UTF-8 text, 20% not ASCII ÷ GNU wc";
        Versus { what, data: &[Data::Wide], bound: 0.1, ..WC }.run(bench)
    }),
    ("wc-lines", "lines only", |bench| {
        let (words, peers): (&[&str], &[Peer<'_>]) = (&["-l"], &[("wc", "wc", &["-l"])]);
        Versus { what: "wc -l ÷ GNU wc -l", words, peers, bound: 0.75, ..WC }.run(bench)
    }),
    ("wc-pipe", "a text from a pipe", wc_pipe),
    ("grep-literal", "counting the lines with a rare literal", |bench| {
        let literal = bench.options.literal.clone();
        grep(bench, &["-c", &literal], 0.75)
    }),
    ("grep-regex", "counting the lines with a word that ends in -ing", |bench| {
        grep(bench, &["-c", r"[a-z]+ing\s"], 0.55)
    }),
    ("grep-many", "numbered lines of many matches, to a file", |bench| {
        let common = bench.options.frequent.clone();
        grep(bench, &["-n", &common], 0.70)
    }),
    ("grep-tree", "a source tree", |bench| grep_tree(bench, &[], OutputCheck::SameLines, 1.0)),
    ("grep-sorted", "a source tree in the order of its paths", |bench| {
        grep_tree(bench, &["--sort", "path"], OutputCheck::Same, 0.65)
    }),
    ("grep-named", "many small files", |bench| {
        // In binary files: without -a, a search ends at the first zero byte.
        let words: &[&str] = &["-c", "-a", "abc"];
        named_files(bench, ("grep", words), ("rg", words), OutputCheck::SameLines, 1.0)
    }),
    ("cmp-equal", "two equal cached files", |bench| {
        Versus { what: "cmp of equal files ÷ GNU cmp", bound: 0.20, ..CMP }.run(bench)
    }),
    ("cmp-early", "a difference in the first MB", cmp_early),
];

pub(super) const HASHED: &[Case] = &[
    ("sum-blake3", "BLAKE3 of a cached file", |bench| sum(bench, "blake3", "b3sum", 0.95)),
    ("sum-sha256", "SHA-256 of a cached file", |bench| sum(bench, "sha256", "sha256sum", 0.40)),
    ("sum-three", "three hashes in one pass", sum_three),
    ("sum-many", "BLAKE3 of many small files", |bench| {
        named_files(bench, ("sum", &["-a", "blake3"]), ("b3sum", &[]), OutputCheck::Same, 0.5)
    }),
    ("dedupe-warm", "a cached tree", |bench| dedupe(bench, false)),
];

pub(super) const COLD: &[Case] = &[
    ("cold-wc", "wc, nothing cached", |bench| cold(bench, "wc", &[], &[("wc", "wc", &[])])),
    ("cold-grep", "grep, nothing cached", |bench| {
        let literal = bench.options.literal.clone();
        let words: &[&str] = &["-c", &literal];
        let unmapped: &[&str] = &["--no-mmap", "-c", &literal];
        let peers = [("rg", "rg", words), ("rg --no-mmap", "rg", unmapped), ("grep", "grep", words)];
        cold(bench, "grep", words, &peers)
    }),
    ("cold-sum-blake3", "sum -a blake3, nothing cached", |bench| {
        let peers: [Peer<'_>; 2] = [("b3sum", "b3sum", &[]), ("b3sum --no-mmap", "b3sum", &["--no-mmap"])];
        cold(bench, "sum", &["-a", "blake3"], &peers)
    }),
    ("cold-sum-sha256", "sum -a sha256, nothing cached", |bench| {
        cold(bench, "sum", &["-a", "sha256"], &[("sha256sum", "sha256sum", &[])])
    }),
    ("cold-cmp", "cmp, nothing cached", |bench| {
        Versus { what: "cold: cmp of equal files ÷ GNU cmp", cold: true, bound: COLD_BOUND, ..CMP }.run(bench)
    }),
    ("cold-copy", "copy, nothing cached", |bench| copy::plain(bench, true)),
    ("cold-dedupe", "dedupe, nothing cached", |bench| dedupe(bench, true)),
];

/// Bound of cold runs, as a share of the best peer's wall time.
const COLD_BOUND: f64 = 1.05;

/// A peer: its name, its program and its arguments.
type Peer<'p> = (&'static str, &'static str, &'p [&'p str]);

/// A tool beside its peers; the last arguments of each are the files.
struct Versus<'v> {
    what: &'v str,
    tool: &'static str,
    words: &'v [&'v str],
    peers: &'v [Peer<'v>],
    data: &'v [Data],
    /// The bytes of each file that are read, if not all.
    bytes: u64,
    locale: &'static str,
    cold: bool,
    code: i32,
    answers: OutputCheck,
    /// Bound of the time, as a share of the fastest peer's; infinite: none.
    bound: f64,
}

const WC: Versus<'static> = Versus {
    what: "",
    tool: "wc",
    words: &[],
    peers: &[("wc", "wc", &[])],
    data: &[Data::Text],
    bytes: u64::MAX,
    locale: LOCALE,
    cold: false,
    code: 0,
    answers: OutputCheck::Same,
    bound: 0.0,
};

const CMP: Versus<'static> = Versus {
    tool: "cmp",
    peers: &[("cmp", "cmp", &[])],
    data: &[Data::Text, Data::Twin],
    answers: OutputCheck::Any,
    ..WC
};

impl Versus<'_> {
    /// The race and the name of fullbore's contender in it.
    fn race(&self, bench: &Bench) -> (Race<'static>, String) {
        let paths: Vec<PathBuf> = self.data.iter().map(|data| bench.place.of(*data)).collect();
        let names: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let line = |line: CommandLine| CommandLine {
            locale: Some(self.locale),
            code: self.code,
            ..line.with(names.iter())
        };
        let is_cold = self.cold;
        // A user's own tree may exceed memory, and these cases are not measured cold: the first, unmeasured runs read
        // everything that is searched.
        let own_tree = self.data == [Data::Sources] && bench.options.tree.is_some();
        let prepare = move || match own_tree {
            true => Ok(()),
            false => paths.iter().try_for_each(|path| states::cold_or_warm(path, is_cold)),
        };
        let ours = format!("fullbore {}", self.tool);
        let files = bench.options.size.min(self.bytes) * self.data.len() as u64;
        let mut race = Race { answers: self.answers, ..Race::new(self.data, files) };
        race = race.enter(&ours, bench.ours(self.tool, self.words).map(line), prepare.clone());
        for (label, program, words) in self.peers {
            race = race.enter(label, bench.peer(program, words).map(line), prepare.clone());
        }
        let peers: Vec<&str> = self.peers.iter().map(|(label, ..)| *label).collect();
        let bound = if self.bound.is_finite() { Bound::AtMost(self.bound) } else { Bound::None };
        (race.demand(self.what, Figure::Fastest, &ours, &peers, bound), ours)
    }

    fn run(&self, bench: &mut Bench) -> Attempt<()> {
        self.race(bench).0.run(bench)
    }
}

/// Compares with `cat`, too, which only moves the bytes; its output is the text itself and is not compared.
fn wc_default(bench: &mut Bench) -> Attempt<()> {
    const CAT: &str = "cat >/dev/null";
    let text = bench.place.of(Data::Text);
    let what = format!("wc, LC_ALL={LOCALE} ÷ GNU wc");
    let (race, ours) = Versus { what: &what, bound: 1.0 / 25.0, ..WC }.race(bench);
    let cat = bench.peer("cat", &[&text.to_string_lossy()]).map(|line| CommandLine { answer: None, ..line });
    race.enter(CAT, cat, || states::warm(&text))
        .hold("wc ÷ cat >/dev/null", &ours, CAT, Bound::AtMost(0.65))
        .run(bench)
}

fn wc_pipe(bench: &mut Bench) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let prepare = || states::warm(&text);
    let piped = |line: CommandLine| CommandLine { piped: Some(text.clone()), ..line };
    let cat = bench.peer("cat", &[]).map(|line| CommandLine { answer: None, ..piped(line) });
    Race::new(&[Data::Text], bench.options.size)
        .enter("cat | fullbore wc", bench.ours("wc", &[]).map(piped), prepare)
        .enter("cat | cat >/dev/null", cat, prepare)
        .hold("wc of a pipe ÷ cat | cat", "cat | fullbore wc", "cat | cat >/dev/null", Bound::AtMost(1.3))
        .run(bench)
}

fn grep(bench: &mut Bench, words: &[&str; 2], bound: f64) -> Attempt<()> {
    let what = format!("grep {} '{}' ÷ rg", words[0], words[1]);
    Versus { what: &what, tool: "grep", words, peers: &[("rg", "rg", words)], bound, ..WC }.run(bench)
}

fn grep_tree(bench: &mut Bench, flags: &[&str], answers: OutputCheck, bound: f64) -> Attempt<()> {
    let what = format!("grep {} of a source tree ÷ rg", [flags, &["-n"]].concat().join(" "));
    let literal = bench.options.literal.clone();
    let words: &[&str] = &[flags, &["-n", &literal]].concat();
    let tree = &[Data::Sources];
    Versus {
        what: &what,
        tool: "grep",
        words,
        peers: &[("rg", "rg", words)],
        data: tree,
        bytes: 0,
        answers,
        bound,
        ..WC
    }
    .run(bench)
}

fn cmp_early(bench: &mut Bench) -> Attempt<()> {
    /// Limit in milliseconds: below the threshold of perception.
    const AT_ONCE: f64 = 20.0;
    let what = "cmp, a difference in the first MB ÷ GNU cmp";
    let data = &[Data::Text, Data::Other];
    let (race, ours) = Versus {
        what,
        data,
        bytes: 1_000_000,
        code: 1,
        answers: OutputCheck::Same,
        bound: f64::INFINITY,
        ..CMP
    }
    .race(bench);
    race.within("cmp, a difference in the first MB", &ours, Bound::AtMost(AT_ONCE)).run(bench)
}

fn sum(bench: &mut Bench, hash: &str, peer: &'static str, bound: f64) -> Attempt<()> {
    let what = format!("sum -a {hash} ÷ {peer}");
    let words = &["-a", hash];
    Versus { what: &what, tool: "sum", words, peers: &[(peer, peer, &[])], bound, ..WC }.run(bench)
}

fn sum_three(bench: &mut Bench) -> Attempt<()> {
    const ALL: &str = "blake3,sha256,md5";
    // With two hashes that each take as long as the slowest, two processors could not keep the bound: sha512 and md5 were
    // measured at 1.21, using both processors fully.
    const ALONE: [&str; 3] = ["blake3", "sha256", "md5"];
    let text = bench.place.of(Data::Text);
    let mut race = Race::new(&[Data::Text], bench.options.size);
    for hash in [ALL].iter().chain(&ALONE) {
        let ours = bench.ours("sum", &["-a", hash, &text.to_string_lossy()]);
        race = race.enter(hash, ours, || states::warm(&text));
    }
    let what = "sum of three hashes ÷ the slowest of them alone";
    race.demand(what, Figure::Slowest, ALL, &ALONE, Bound::AtMost(1.1)).run(bench)
}

/// Many small files, all named on the command line.
fn named_files(
    bench: &mut Bench,
    ours: (&'static str, &[&str]),
    peer: (&'static str, &[&str]),
    answers: OutputCheck,
    bound: f64,
) -> Attempt<()> {
    let (crowd, count) = (bench.place.of(Data::Crowd), bench.place.some());
    let prepare = || states::warm(&crowd);
    let among =
        |line: CommandLine| CommandLine { directory: Some(crowd.clone()), ..line.with(tree::names(count)) };
    let race = Race { answers, ..Race::new(&[Data::Crowd], 0) };
    let (tool, name) = (format!("fullbore {}", ours.0), peer.0);
    race.enter(&tool, bench.ours(ours.0, ours.1).map(among), prepare)
        .enter(name, bench.peer(name, peer.1).map(among), prepare)
        .hold(&format!("{} of {count} small files ÷ {name}", ours.0), &tool, name, Bound::AtMost(bound))
        .run(bench)
}

fn cold(bench: &mut Bench, tool: &'static str, words: &[&str], peers: &[Peer<'_>]) -> Attempt<()> {
    let what = format!("cold: {} ÷ its best peer", [&[tool], words].concat().join(" "));
    let answers = OutputCheck::Any;
    Versus { what: &what, tool, words, peers, cold: true, answers, bound: COLD_BOUND, ..WC }.run(bench)
}

/// Finds the equal files of a tree, from the page cache or from the device.
fn dedupe(bench: &mut Bench, cold: bool) -> Attempt<()> {
    let doubles = bench.place.of(Data::Doubles);
    let (ours, fclones) = (bench.ours("dedupe", &["doubles"]), bench.peer("fclones", &["group", "doubles"]));
    // The equal files are known once the files are made; they are made only if a contender runs.
    if ours.is_ok() && fclones.is_ok() {
        bench.place.need(Data::Doubles)?;
    }
    let equal = bench.place.equal.clone();
    let prepare = || states::cold_or_warm(&doubles, cold);
    let answers = ["ours", "fclones"].map(|who| bench.place.path(&format!("answers/{who}")));
    let (what, bound) = match cold {
        true => ("cold: dedupe ÷ fclones group", COLD_BOUND),
        false => ("dedupe ÷ fclones group", 0.8),
    };
    Race::new(&[Data::Doubles], 0)
        .shaped("fullbore dedupe", ours, |one| one.prepare(prepare).check(|| right(&answers[0], &equal)))
        .shaped("fclones group", fclones, |one| one.prepare(prepare).check(|| right(&answers[1], &equal)))
        .hold(what, "fullbore dedupe", "fclones group", Bound::AtMost(bound))
        .run(bench)
}

/// Checks that a report names every file that has an equal and no other, in any format.
fn right(report: &Path, equal: &[bool]) -> Attempt<()> {
    let report = String::from_utf8_lossy(&std::fs::read(report)?).into_owned();
    let length = tree::name(0, "").as_os_str().len();
    // The ends of all words that are long enough to be paths.
    let ends: HashSet<&str> = report
        .split(|c: char| c.is_whitespace() || "\"',".contains(c))
        .filter_map(|word| word.get(word.len().checked_sub(length)?..))
        .collect();
    for (index, equal) in equal.iter().enumerate() {
        let name = tree::name(index, "").to_string_lossy().into_owned();
        match (ends.contains(&*name), *equal) {
            (true, false) => return Err(format!("{name} is reported and has no equal").into()),
            (false, true) => return Err(format!("{name} has an equal and is not reported").into()),
            _ => {}
        }
    }
    Ok(())
}
