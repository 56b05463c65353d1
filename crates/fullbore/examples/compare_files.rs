//! Prints the first difference of two files. Two workers compare them; each file's strategy depends on its cached share.
//!
//!     cargo run --release --example compare_files -- FILE1 FILE2

use fullbore::file::File;
use fullbore::pattern::{Comparison, Extent, Progress, Side, compare};
use fullbore::strategy::{Planner, StrategySpec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, one, two] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: compare_files FILE1 FILE2".into());
    };
    let (left, right, spec) = (File::open(one)?, File::open(two)?, StrategySpec::default());
    let plans = Planner::new(&spec).plan_pair([&left, &right])?;
    let sides = [Side::new(&left, &plans[0].strategy), Side::new(&right, &plans[1].strategy)];
    let wanted = Extent { lines: true, ..Extent::default() };
    let (_, found) = compare(&sides[0], &sides[1], &wanted, &Progress::default())?;
    match found {
        Comparison::Equal => println!("equal"),
        Comparison::Differ { at, lines } => {
            println!("first difference: byte {}, line {}", at.offset + 1, lines + 1)
        }
        Comparison::End(end) => println!("{} ends after {} bytes", [one, two][end.side as usize], end.offset),
    }
    Ok(())
}
