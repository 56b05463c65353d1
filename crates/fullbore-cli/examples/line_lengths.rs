//! Counts the lines of each length: an operation on whole lines, independent of the cuts of a file.
//!
//!     cargo run --release --example line_lengths -- FILE...

use std::collections::BTreeMap;

use clap::Parser;
use fullbore::operation::{Fold, Split};
use fullbore_cli::{common_args::CommonArgs, for_each::fold_files};

struct Lengths;

impl Fold for Lengths {
    type State = BTreeMap<usize, u64>;

    fn split(&self) -> Split {
        Split::Delimiter(b'\n')
    }

    fn identity(&self) -> Self::State {
        BTreeMap::new()
    }

    fn block(&self, lengths: &mut Self::State, _offset: u64, lines: &[u8]) {
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            *lengths.entry(line.strip_suffix(b"\n").unwrap_or(line).len()).or_default() += 1;
        }
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        right.into_iter().for_each(|(length, count)| *left.entry(length).or_default() += count);
    }
}

#[derive(Parser)]
struct Arguments {
    files: Vec<std::path::PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> std::process::ExitCode {
    let Arguments { files, common } = Arguments::parse();
    fullbore_cli::main(|| {
        fold_files(&common, "line lengths", &Lengths, &files, |run, path, lengths| {
            let lines: String =
                lengths.iter().map(|(length, count)| format!("{length:6} {count}\n")).collect();
            run.output.print(format!("{}:\n{lines}", path.display()))
        })
    })
}
