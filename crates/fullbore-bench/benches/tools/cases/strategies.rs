//! `auto` beside strategies that are fixed for the whole run: every tool, with its input in the page cache, not in it, and with
//! the first half in it; one tool with small parts in it. No profile, and nothing learned.

use super::*;

use fullbore::strategy::{ADAPTIVE, NAMED};

use crate::states::Cached::{self, Every, First};

const TITLE: &str = "auto beside fixed strategies";

pub(super) const CASES: &[Case] = &[
    ("auto-wc", TITLE, |bench| compare(bench, "wc", &["text"])),
    ("auto-sum", TITLE, |bench| compare(bench, "sum", &["text"])),
    ("auto-literal", TITLE, |bench| {
        let literal = bench.options.literal.clone();
        compare(bench, "grep", &["-c", &literal, "text"])
    }),
    ("auto-regex", TITLE, |bench| compare(bench, "grep", &["-c", r"[a-z]+ing\s", "text"])),
    ("auto-cmp", TITLE, |bench| compare(bench, "cmp", &["text", "twin"])),
    ("auto-copy", TITLE, |bench| compare(bench, "copy", &["--reflink=never", "text", NEW])),
    ("auto-transform-new", TITLE, |bench| compare(bench, "transform", &["shift:10", "text", NEW])),
    ("auto-transform-over", TITLE, |bench| {
        compare(bench, "transform", &["shift:10", "text", OLD, "--overwrite"])
    }),
    ("auto-parts", TITLE, |bench| compare_in(&PARTS, bench, "wc", &["text"])),
    // The processor limits every strategy alike: the figure is the cost of the trials.
    ("auto-equal", TITLE, |bench| compare_in(&EQUAL, bench, "sum", &["-a", "md5", "text"])),
];

/// An output that is new in each run, and one that exists.
const NEW: &str = "new";
const OLD: &str = "old";

/// The fixed strategies; `P` stands for the number of processors.
const STRATEGIES: &[&str] = &[
    "read=mmap,write=buffered,request=1M,stripe=8M,window=8M,workers=P,model=pool",
    "read=mmap,write=buffered,request=1M,stripe=16M,window=16M,workers=P,model=pool",
    "read=mmap,write=buffered,request=512K,stripe=16M,window=64M,workers=P,model=pool",
    "method=buffered,request=256K,stripe=1M,workers=P,model=pool",
    "method=buffered,request=512K,stripe=4M,workers=P,model=pool",
    "method=buffered,request=256K,stripe=8M,workers=P,model=pool",
    "read=direct,write=buffered,request=4M,stripe=4M,workers=P,model=pool",
    "read=uring,write=buffered,read-cache=direct,request=1M,depth=8,workers=1,model=serial",
    "read=uring,write=buffered,read-cache=direct,request=1M,depth=8,stripe=8M,workers=P,model=pool",
];

/// The states of the input, and the bounds: of a file that is half in the page cache, no fixed strategy suits both halves.
const STATES: [State; 3] =
    [("warm", First(1.0), 1.08), ("cold", First(0.0), 1.08), ("half cached", First(0.5), 0.92)];

/// Small parts: of those below 1 MiB, `auto` reads all alike.
const PARTS: [State; 2] =
    [("every other MiB cached", Every(1 << 20), 0.92), ("every other 64 KiB cached", Every(64 << 10), 1.08)];

/// The bound of files that are too short for a trial: they have one strategy in every state.
const SHORT: f64 = 1.05;

/// The same for strategies that are equally fast.
const EQUAL: [State; 2] = [("warm", First(1.0), 1.01), ("cold", First(0.0), 1.01)];

/// Name, cached parts and bound.
type State = (&'static str, Cached, f64);

fn compare(bench: &mut Bench, tool: &'static str, words: &[&str]) -> Attempt<()> {
    let short = bench.options.size < ADAPTIVE;
    let bounded = |(name, parts, bound)| (name, parts, if short { SHORT } else { bound });
    compare_in(&STATES.map(bounded), bench, tool, words)
}

fn compare_in(cached: &[State], bench: &mut Bench, tool: &'static str, words: &[&str]) -> Attempt<()> {
    let inputs: Vec<Data> = match tool {
        "cmp" => vec![Data::Text, Data::Twin],
        _ => vec![Data::Text],
    };
    let paths: Vec<_> = inputs.iter().map(|data| bench.place.of(*data)).collect();
    let (new, old) = (bench.place.path(NEW), bench.place.path(OLD));
    let has = |name| words.contains(&name);
    let processors = fullbore::probe::processors().to_string();
    let fixed = STRATEGIES.iter().map(|fixed| fixed.replace('P', &processors));
    // The named strategies are those of a transformation.
    let named = NAMED.iter().filter(|_| tool == "transform").map(|named| named.name.to_owned());
    let fixed: Vec<String> = fixed.chain(named).collect();
    let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
    for &(state, parts, bound) in cached {
        let prepare = || {
            if has(OLD) {
                states::whole(&old, &paths[0])?;
            }
            paths.iter().try_for_each(|path| states::partly(path, parts))?;
            if has(NEW) { states::fresh(&new, &paths[0]) } else { Ok(()) }
        };
        let mut race = Race::new(&inputs, bench.options.size * inputs.len() as u64);
        for strategy in ["auto"].iter().chain(&fixed) {
            let ours = bench.ours(tool, &[words, &["--strategy", strategy]].concat());
            race = race.shaped(strategy, ours, |one| one.prepare(prepare).clear(|| states::remove(&new)));
        }
        let what = format!("{tool} {}, {state}: auto ÷ the best fixed strategy", words.join(" "));
        race.demand(&what, Figure::Regret, "auto", &fixed, Bound::AtMost(bound)).run(bench)?;
    }
    states::remove(&old);
    Ok(())
}
