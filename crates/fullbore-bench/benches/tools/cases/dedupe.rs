//! Finding files with equal content: `fullbore dedupe` beside `fclones group`.

use std::collections::HashSet;
use std::path::Path;

use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::Race;
use crate::{Attempt, Bench, states, tree};

pub(super) const CASES: &[Case] = &[("dedupe-warm", "a cached tree", |bench| equals(bench, false))];

/// Finds the equal files of a tree, from the page cache or from the device.
pub(super) fn equals(bench: &mut Bench, cold: bool) -> Attempt<()> {
    let doubles = bench.place.of(Data::Doubles);
    let (ours, fclones) = (bench.ours("dedupe", &["doubles"]), bench.peer("fclones", &["group", "doubles"]));
    // The equal files are known once the files are made; they are made only if a contender runs.
    if ours.is_ok() && fclones.is_ok() {
        bench.place.need(Data::Doubles)?;
    }
    let equal = bench.place.equal.clone();
    let prepare = || if cold { states::cold_tree(&doubles) } else { states::warm_tree(&doubles) };
    let answers = ["ours", "fclones"].map(|who| bench.place.path(&format!("answers/{who}")));
    let (what, bound) = match cold {
        true => ("cold: dedupe ÷ fclones group", 1.05),
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
