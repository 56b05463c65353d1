//! Where two files differ first: two workers over both, each file read as its place in the page cache wants it.
//!
//!     cargo run --release --example compare_files -- FILE1 FILE2

use fullbore::file::File;
use fullbore::pattern::{Comparison, Extent, Progress, Side, compare};
use fullbore::strategy::{Planner, Purpose, StrategySpec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, one, two] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("name two files".into());
    };
    let (left, right, spec) = (File::open(one)?, File::open(two)?, StrategySpec::default());
    let planned = |file: &File| -> fullbore::Result<_> {
        Ok(Planner::new(&spec).plan(Purpose::Compare, Some(file), file.seekable_len()?, None)?)
    };
    let (mine, other) = (planned(&left)?, planned(&right)?);
    let sides = [Side::new(&left, &mine.strategy), Side::new(&right, &other.strategy)];
    let wanted = Extent { lines: true, ..Extent::default() };
    let (_, found) = compare(&sides[0], &sides[1], &wanted, &Progress::default())?;
    match found {
        Comparison::Equal => println!("they are the same"),
        Comparison::Differ { at, lines } => {
            println!("they differ in byte {}, line {}", at.offset + 1, lines + 1)
        }
        Comparison::End(end) => println!("{} ends after {} bytes", [one, two][end.side as usize], end.offset),
    }
    Ok(())
}
