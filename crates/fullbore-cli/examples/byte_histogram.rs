//! Counts how often each byte occurs: a custom operation with files, standard input, progress and `--explain`.
//!
//!     cargo run --release --example byte_histogram -- FILE...

use clap::Parser;
use fullbore::operation::Fold;
use fullbore_cli::{common_args::CommonArgs, for_each::fold_files};

struct Histogram;

impl Fold for Histogram {
    type State = Box<[u64; 256]>;

    fn identity(&self) -> Self::State {
        Box::new([0; 256])
    }

    fn block(&self, counts: &mut Self::State, _offset: u64, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.iter_mut().zip(*right).for_each(|(left, right)| *left += right);
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
        fold_files(&common, "histogram", &Histogram, &files, |run, path, counts| {
            let seen = (0..=255u8).zip(*counts).filter(|(_, count)| *count > 0);
            let lines: String = seen.map(|(byte, count)| format!("{byte:3} {count}\n")).collect();
            run.output.print(format!("{}:\n{lines}", path.display()))
        })
    })
}
