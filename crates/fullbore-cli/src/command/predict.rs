//! `fullbore predict`: throughput of requests that were not measured, by the model of a results document.

use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::size;
use fullbore_bench::model::{DeviceLimits, Model, Prediction, Query};

use super::print_json;
use super::report::{name, read};
use crate::exit::Exit;

/// Predict the throughput of requests that were not measured, on this machine or on a changed one
///
/// A prediction comes from a model fitted to the cells of a bench run. It includes the interval into which a
/// measurement falls with 95% probability and the stage that limits the throughput, and is marked "extrapolated"
/// if the measured cells do not surround the requests.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fullbore predict read request=64K depth=8 workers=1 cache=cold\n  fullbore predict read \
                  request=64K depth=8 --disks 4\n  fullbore predict read request=4K depth=32 order=random --device \
                  \"iops=3000,bandwidth=125M\"\n\nExit status: 0 predicted, 2 error, or too few measured cells."
)]
pub(crate) struct Predict {
    /// Operation: read, write, or another one that was measured
    #[arg(value_name = "OPERATION")]
    operation: String,

    /// Requests: method=, request=, depth=, workers= as in --strategy; cache=cold, warm, keep, drop or direct;
    /// order=sequential or random; chunk= of a file striped over --disks
    #[arg(value_name = "FIELD=VALUE", required = true)]
    words: Vec<String>,

    /// Results document or folder of a run; - is standard input [default: the latest run below the current directory]
    #[arg(long, value_name = "FILE|FOLDER")]
    results: Option<PathBuf>,

    /// Number of disks: each has its own workers and depth or, with chunk=, a part of one file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    disks: Option<u32>,

    /// Number of processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cpus: Option<u32>,

    /// Limits of another device: requests and bytes per second, such as iops=3000,bandwidth=125M
    #[arg(long, value_name = "LIMITS", value_parser = device)]
    device: Option<DeviceLimits>,

    /// Print the prediction as JSON
    #[arg(long)]
    json: bool,
}

/// Parses the limits of a device; one that is not given does not limit.
fn device(text: &str) -> Result<DeviceLimits, String> {
    let mut limits = DeviceLimits { requests_per_s: f64::INFINITY, bytes_per_s: f64::INFINITY };
    for word in text.split(',') {
        let (limit, per_s) = match word.split_once('=') {
            Some(("iops", value)) => (&mut limits.requests_per_s, value.parse::<u64>().ok()),
            Some(("bandwidth", value)) => (&mut limits.bytes_per_s, size::parse(value).ok()),
            _ => (&mut limits.requests_per_s, None),
        };
        match per_s.filter(|per_s| *per_s > 0) {
            Some(per_s) => *limit = per_s as f64,
            None => return Err(format!("{word:?}: write iops=NUMBER or bandwidth=SIZE, more than 0")),
        }
    }
    Ok(limits)
}

impl Predict {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let mut query = Query::parse(&self.operation, &self.words).map_err(Exit::failure)?;
        (query.disks, query.cpus, query.device) = (self.disks, self.cpus, self.device);
        let path = match self.results {
            Some(path) => path,
            None => super::bench::latest(Path::new("."), "--results")?,
        };
        let document = read(&path)?;
        let model = Model::of(&document);
        let found =
            model.predict(&query).map_err(|reason| Exit::failure(format!("{}: {reason}", name(&path))))?;
        if self.json {
            return print_json(&found);
        }
        Exit::print(&line(&found))
    }
}

fn line(found: &Prediction) -> String {
    let Prediction { rate, limit, extrapolated, path } = found;
    let [value, low, high] = [rate.value, rate.low, rate.high].map(size::rate);
    let extrapolated = if *extrapolated { ", extrapolated" } else { "" };
    format!("{value} ({low} to {high}), limited by {}{extrapolated} [{path}]\n", limit.words())
}
