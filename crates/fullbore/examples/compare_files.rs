//! Prints the first difference of two files. All workers compare them; the strategy depends on the cached share of each.
//!
//!     cargo run --release -p fullbore --example compare_files -- FILE1 FILE2

use fullbore::Job;
use fullbore::pattern::{CompareOptions, Comparison};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, one, two] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: compare_files FILE1 FILE2".into());
    };
    let (found, _) =
        Job::new().pair(one, two)?.compare(&CompareOptions { lines: true, ..CompareOptions::default() })?;
    match found {
        Comparison::Equal => println!("equal"),
        Comparison::Differ { at, lines } => {
            println!("first difference: byte {}, line {}", at.offset + 1, lines + 1)
        }
        Comparison::End(end) => println!("{} ends after {} bytes", [one, two][end.side as usize], end.offset),
    }
    Ok(())
}
