//! Sums a column of unquoted comma-separated values, and counts the lines whose field is not a number.
//!
//!     cargo run --release --example csv_column_sum -- --column 3 FILE...

use clap::Parser;
use fullbore::operation::{Fold, Split};
use fullbore_cli::{common_args::CommonArgs, for_each::fold_files};

/// Sums the column with this number, from 1.
struct Column(usize);

impl Fold for Column {
    /// The exact sum in cents, and the number of lines without a number.
    type State = (i128, u64);

    fn split(&self) -> Split {
        Split::Delimiter(b'\n')
    }

    fn identity(&self) -> Self::State {
        (0, 0)
    }

    fn block(&self, (sum, without): &mut Self::State, _offset: u64, lines: &[u8]) {
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let field = line.split(|&byte| byte == b',').nth(self.0 - 1).unwrap_or_default();
            match std::str::from_utf8(field).ok().and_then(|text| text.trim().parse::<f64>().ok()) {
                Some(number) => *sum += (number * 100.0).round() as i128,
                None => *without += 1,
            }
        }
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        *left = (left.0 + right.0, left.1 + right.1);
    }
}

#[derive(Parser)]
struct Arguments {
    files: Vec<std::path::PathBuf>,
    /// Column number, from 1
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    column: u16,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> std::process::ExitCode {
    let Arguments { files, column, common } = Arguments::parse();
    fullbore_cli::main(|| {
        fold_files(&common, "sum of a column", &Column(column.into()), &files, |run, path, (sum, without)| {
            let (sign, cents) = (if sum < 0 { "-" } else { "" }, sum.unsigned_abs());
            let sum = format!("{sign}{}.{:02}", cents / 100, cents % 100);
            run.output.print(format!("{sum} {} ({without} lines without a number)\n", path.display()))
        })
    })
}
