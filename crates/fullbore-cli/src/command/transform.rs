//! `fullbore transform`: applies a length-preserving operation to a file.

use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::file::{File, Output, Placement};
use fullbore::operation::{self, Kernel};

use super::help_list;
use super::run::TransferArgs;
use crate::exit::Exit;
use fullbore_cli::for_each::{seek_standard_input, standard_input};

/// Transform a file byte by byte
#[derive(Debug, Args)]
#[command(after_help = operations())]
pub(crate) struct Transform {
    #[arg(value_name = "OP", allow_hyphen_values = true, help = usages())]
    operation: String,

    /// Input file; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// Output file; - is standard output. A new file gets its name when it is complete
    #[arg(value_name = "OUT", required_unless_present = "in_place", conflicts_with = "in_place")]
    output: Option<PathBuf>,

    /// Change IN itself; an interrupted run leaves it part old, part new
    #[arg(long, conflicts_with = "overwrite")]
    in_place: bool,

    /// Write over the blocks of an existing OUT, without allocation; an interrupted run leaves it part old, part new
    #[arg(long)]
    overwrite: bool,

    /// Use the scalar loop, one byte at a time, instead of vector instructions
    #[arg(long)]
    scalar: bool,

    #[command(flatten)]
    transfer: TransferArgs,
}

fn usages() -> String {
    let usages: Vec<_> = operation::registry().iter().map(|known| known.usage).collect();
    format!("Operation: {}", usages.join(", "))
}

fn operations() -> String {
    let operations = operation::registry().iter().map(|known| (known.usage, known.summary));
    let mut text = format!("Operations:\n{}", help_list(12, operations));
    text.push_str(
        "\nExit status: 0 done, 2 error, 3 the input changed while it was read, or an overwritten file was \
         truncated while it was written.",
    );
    text
}

impl Transform {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let kernel = if self.scalar { Kernel::Scalar } else { Kernel::Simd };
        let operation = operation::parse(&self.operation, kernel).map_err(Exit::failure)?;
        let input = if is_standard_input(&self.input) { standard_input()? } else { File::open(&self.input)? };
        // In place, an input that cannot be changed is reported first.
        let input = if self.output.is_some() { input.stamped()? } else { input };
        let output = match &self.output {
            None if is_standard_input(&self.input) => {
                return Err(Exit::failure("standard input: cannot be changed in place: name a file"));
            }
            None => Output::in_place(&self.input)?,
            Some(path) if is_standard_output(path) => Output::stdout()?,
            Some(path) => {
                let placement = if self.overwrite { Placement::Overwrite } else { Placement::Replace };
                Output::create_with(path, placement, Some(&input))?
            }
        };
        // The name may lead to another file by now.
        let input = if self.output.is_none() { output.file().clone() } else { input };
        let to_stdout = self.output.as_deref().is_some_and(is_standard_output);
        self.transfer.run(&operation.to_string(), (output, to_stdout), |job, output| {
            job.transform_to(&*operation, &input, output)
        })?;
        if let (true, Some(len)) = (is_standard_input(&self.input), input.seekable_len()?) {
            seek_standard_input(len);
        }
        Ok(())
    }
}

fn is_standard_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0"].iter().any(|name| path == Path::new(name))
}

/// True if a path means standard output. That includes its names as a file: a file redirected there by a shell is
/// written from its current offset, not replaced.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1"].iter().any(|name| path == Path::new(name))
}
