//! `fullbore gen`: test data.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fullbore::file::Output;
use fullbore::operation::Generate as Generator;
use fullbore::operation::generate::{Random, Text, Zeros};
use fullbore::size;
use fullbore_cli::values::names;

use super::run::TransferArgs;
use super::transform::is_standard_output;
use crate::exit::Exit;

/// Default length of a text line in bytes.
const LINE: NonZeroU64 = NonZeroU64::new(80).unwrap();

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Content {
    /// Incompressible random bytes
    Random,
    /// Lines of words
    Text,
    /// Zero bytes, written, without holes
    Zeros,
}

/// Generate test data: random bytes, text or zeros
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 done, 2 error, 3 the output was truncated while it was written.")]
pub(crate) struct Generate {
    /// Length: 640MB is 640,000,000 bytes, 1GiB is 2^30; K, M and G alone are powers of 1024
    #[arg(value_name = "SIZE", value_parser = |text: &str| size::parse(text))]
    size: u64,

    /// Output file; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Content of the data
    #[arg(long, value_parser = names::<Content>(), value_name = "CONTENT", default_value = "random")]
    content: Content,

    /// Seed: the same seed, content and line length give the same bytes
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// With --content text: length of a line in bytes, newline included [default: 80]
    #[arg(long, value_name = "BYTES", value_parser = line_length)]
    line: Option<NonZeroU64>,

    /// Write over the blocks of an existing OUT
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    transfer: TransferArgs,
}

fn line_length(text: &str) -> Result<NonZeroU64, String> {
    let bytes = size::parse(text).map_err(|error| error.to_string())?;
    NonZeroU64::new(bytes).ok_or_else(|| "the newline counts, so give 1 or more bytes".to_owned())
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Exit> {
        if self.line.is_some() && self.content != Content::Text {
            return Err(Exit::failure("--line can be used only with --content text"));
        }
        let generator: Box<dyn Generator> = match self.content {
            Content::Random => Box::new(Random::new(self.seed)),
            Content::Text => Box::new(Text::new(self.seed, self.line.unwrap_or(LINE))),
            Content::Zeros => Box::new(Zeros),
        };
        let to_stdout = is_standard_output(&self.output);
        let output = if to_stdout {
            Output::stdout()?
        } else {
            (if self.overwrite { Output::overwrite } else { Output::create })(&self.output)?
        };
        self.transfer.run(&generator.to_string(), (output, to_stdout), |job, output| {
            job.generate(&*generator, self.size, output)
        })
    }
}
