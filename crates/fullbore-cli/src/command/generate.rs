//! `fullbore gen`: test data.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fullbore::file::{Output, Placement};
use fullbore::operation::Generate as Generator;
use fullbore::operation::generate::{Random, Text, Zeros};
use fullbore::size;
use fullbore_cli::values::names;

use super::run::TransferArgs;
use super::transform::is_standard_output;
use crate::exit::Exit;

/// The content of the data.
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
#[command(after_help = "Exit status: 0 done, 2 error.")]
pub(crate) struct Generate {
    /// Length: 640MB is 640,000,000 bytes, 1GiB is 2^30; K, M, G alone are multiples of 1024
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

    /// Length of a text line in bytes, newline included
    #[arg(long, value_name = "BYTES", default_value = "80", value_parser = |text: &str| size::parse(text))]
    line: u64,

    /// Write over the blocks of an existing OUT
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    transfer: TransferArgs,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let generator: Box<dyn Generator> = match self.content {
            Content::Random => Box::new(Random::new(self.seed)),
            Content::Text => Box::new(Text::new(self.seed, self.line).map_err(Exit::failure)?),
            Content::Zeros => Box::new(Zeros),
        };
        let to_stdout = is_standard_output(&self.output);
        let output = if to_stdout {
            Output::stdout()?
        } else {
            let placement = if self.overwrite { Placement::Overwrite } else { Placement::Replace };
            Output::create(&self.output, placement, None)?
        };
        self.transfer.run(&generator.to_string(), (output, to_stdout), |job, output| {
            job.generate(&*generator, self.size, output)
        })
    }
}
