//! Peak memory of a transformation, of a file and of a pipe, by strategy.

use super::command::CommandLine;
use super::every_strategy::STRATEGIES;
use super::finding::{Bound, Finding};
use super::{Attempt, Bench, states};

/// The budget for buffers and 16 MiB for all else, in MiB.
const BOUND: Bound = Bound::AtMost(80.0);

/// Strategies that map the whole file: their memory is the file.
const WHOLE: &[&str] = &["cci-mm", "cci-mtmm", "cci-mmtp"];

/// Strategies with large settings.
const GREEDY: &[&str] = &[
    "method=uring,depth=1024,request=1M,workers=2",
    "method=mmap,workers=2,window=16M",
    "method=buffered,workers=64,request=4M",
    "method=vectored,depth=64,request=1M",
];

pub(crate) fn compare(bench: &mut Bench) -> Attempt<()> {
    let (input, output) = (bench.place.input.clone(), bench.place.path("memory"));
    states::warm(&input)?;
    for strategy in ["auto"].iter().chain(STRATEGIES).chain(GREEDY) {
        for piped in [false, true] {
            // A mapping needs a file.
            if piped && strategy.contains("mm") {
                continue;
            }
            let what = format!("peak memory, {strategy}{}", if piped { ", from a pipe" } else { "" });
            let ours = CommandLine::new(&bench.binary, ["transform", "shift:10", "--strategy", strategy])
                .word(if piped { "-".as_ref() } else { input.as_os_str() })
                .word(&output);
            let ours = if piped { ours.piped(&input) } else { ours };
            let peak = ours.peak_memory();
            states::remove(&output);
            let peak = match peak {
                Ok(peak) => peak as f64 / f64::from(1 << 20),
                Err(error) => {
                    bench.findings.skip(&what, &error.to_string());
                    continue;
                }
            };
            bench.findings.add(Finding {
                what,
                ours: "peak resident memory".into(),
                peer: String::new(),
                figure: peak,
                unit: " MiB",
                paired: None,
                bound: if WHOLE.contains(strategy) { Bound::None } else { BOUND },
            });
        }
    }
    Ok(())
}
