//! The fio program on this machine: path, version, runs, and their results, read from its JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fullbore::error::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::counterpart::Setting;
use super::shape::HUGE_PAGES;
use crate::child;
use crate::document::Latency;

#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// The version as printed: `fio-3.33`.
    pub(crate) version: String,
}

impl Program {
    /// Finds fio along `PATH`; fails if it is not installed, or older than version 3.
    pub(crate) fn find() -> Result<Self> {
        let refuse = |what: String| {
            Error::new(ErrorKind::Unsupported, "run", "fio", what)
                .advise("install it (Debian: apt install fio)")
        };
        let path = child::find("fio").ok_or_else(|| refuse("not installed".into()))?;
        let said = child::start(Command::new(&path).arg("--version").stdout(Stdio::piped()))
            .and_then(child::ChildProcess::output)
            .map_err(|error| Error::io("run", &path, error))?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let major = version.strip_prefix("fio-").and_then(|rest| rest.split('.').next());
        match major.and_then(|major| major.parse::<u32>().ok()) {
            Some(3..) => Ok(Self { path, version }),
            _ => Err(refuse(format!("{version:?} is not version 3 or later"))),
        }
    }

    /// Runs one job in `directory`, with its buffers on huge pages if `huge`, and returns what it printed.
    pub(super) fn run(&self, settings: &[Setting], directory: &Path, huge: bool) -> Result<String> {
        let mut command = Command::new(&self.path);
        command.args(["--output-format=json", "--name=peer"]);
        command.args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        if huge {
            command.env(HUGE_PAGES.0, HUGE_PAGES.1);
        }
        command.current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = child::start(&mut command)
            .and_then(child::ChildProcess::output)
            .map_err(|error| Error::io("run", &self.path, error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = complaint(&stderr).or_else(|| complaint(&text)).unwrap_or("no reason given");
        Err(Error::new(
            ErrorKind::Unsupported,
            "run",
            &self.path,
            format!("fio failed: {}: {said}", output.status),
        ))
    }
}

/// The first line in which fio reports an error.
fn complaint(said: &str) -> Option<&str> {
    let lines =
        || said.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "{" && *line != "}");
    lines().find(|line| line.contains("error") || line.contains("fail")).or_else(|| lines().next())
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobResult {
    pub(super) bytes: u64,
    /// Seconds from the first request to the last, in fio's whole milliseconds; 0: less, and requests were not timed.
    pub(super) seconds: f64,
    pub(super) requests: u64,
    /// User CPU time of its jobs in seconds.
    pub(super) user_s: f64,
    /// System CPU time of its jobs in seconds.
    pub(super) system_s: f64,
    /// Requests in flight of all jobs together, by Little's law: their rate times the time of one.
    pub(super) in_flight: Option<f64>,
    pub(super) latency: Option<Latency>,
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    job_runtime: f64,
    usr_cpu: f64,
    sys_cpu: f64,
    read: DirectionStats,
    write: DirectionStats,
}

#[derive(Deserialize)]
struct DirectionStats {
    io_bytes: u64,
    total_ios: u64,
    runtime: u64,
    lat_ns: TimeStats,
}

#[derive(Deserialize)]
struct TimeStats {
    max: f64,
    mean: f64,
    #[serde(default)]
    percentile: std::collections::BTreeMap<String, f64>,
}

/// Reads the result of a run whose jobs are reported as one group. At most `most` requests can be in flight.
pub(super) fn read_result(text: &str, writes: bool, most: u64) -> std::result::Result<JobResult, String> {
    // Warnings may precede the document.
    let start = text.find('{').ok_or("fio printed no result")?;
    let document: Document =
        serde_json::from_str(&text[start..]).map_err(|error| format!("unexpected output of fio: {error}"))?;
    let [job] = &document.jobs[..] else {
        return Err(format!("fio printed {} results instead of one", document.jobs.len()));
    };
    if job.error != 0 {
        let error = std::io::Error::from_raw_os_error(job.error as i32);
        return Err(format!("fio failed: {error}"));
    }
    let way = if writes { &job.write } else { &job.read };
    if way.total_ios == 0 {
        return Err("fio made no request".into());
    }
    let busy = way.lat_ns.mean / 1e9 * way.total_ios as f64;
    let seconds = match way.runtime {
        // Less than fio's millisecond: estimated from the time of the requests and their number in flight.
        0 => busy / most.max(1) as f64,
        milliseconds => milliseconds as f64 / 1e3,
    };
    // Shares are of the time of all jobs together.
    let share = |percent: f64| percent / 100.0 * job.job_runtime / 1e3;
    Ok(JobResult {
        bytes: way.io_bytes,
        seconds,
        requests: way.total_ios,
        user_s: share(job.usr_cpu),
        system_s: share(job.sys_cpu),
        in_flight: (way.lat_ns.mean > 0.0 && seconds > 0.0).then(|| (busy / seconds).min(most as f64)),
        latency: way.lat_ns.latency(),
    })
}

impl TimeStats {
    fn latency(&self) -> Option<Latency> {
        let at = |name: &str| self.percentile.get(name).map(|nanoseconds| nanoseconds / 1e9);
        Some(Latency {
            p50_s: at("50.000000")?,
            p90_s: at("90.000000")?,
            p99_s: at("99.000000")?,
            p999_s: at("99.900000")?,
            max_s: self.max / 1e9,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_the_line_with_the_error() {
        let said = "fio: pid=1\n\nfio: io_u error on file x: No space left\n";
        assert_eq!(complaint(said), Some("fio: io_u error on file x: No space left"));
        assert_eq!(complaint("fio: engine nope not loadable\n"), Some("fio: engine nope not loadable"));
        assert_eq!(complaint("\n"), None);
    }

    const TEXT: &str = r#"fio: a warning
    {"fio version": "fio-3.33", "jobs": [{"jobname": "p", "error": 0, "job_runtime": 1000,
      "usr_cpu": 10.0, "sys_cpu": 30.0,
      "read": {"io_bytes": 4096000, "runtime": 500, "total_ios": 1000,
        "lat_ns": {"min": 1, "max": 9000000, "mean": 2000000.0, "stddev": 1.0, "N": 1000,
          "percentile": {"50.000000": 1900000, "90.000000": 2500000, "99.000000": 4000000, "99.900000": 8000000}}},
      "write": {"io_bytes": 0, "runtime": 0, "total_ios": 0, "lat_ns": {"min": 0, "max": 0, "mean": 0.0}}}]}"#;

    #[test]
    fn a_result_is_read() {
        let result = read_result(TEXT, false, 4).unwrap();
        assert_eq!((result.bytes, result.requests, result.seconds), (4_096_000, 1000, 0.5));
        assert!((result.user_s - 0.1).abs() < 1e-12 && (result.system_s - 0.3).abs() < 1e-12);
        assert_eq!(result.in_flight, Some(4.0));
        assert_eq!(result.latency.unwrap().p99_s, 0.004);
        assert_eq!(result.latency.unwrap().max_s, 0.009);
    }

    #[test]
    fn short_runs_are_timed_by_their_requests() {
        let result = read_result(&TEXT.replace("\"runtime\": 500", "\"runtime\": 0"), false, 4).unwrap();
        assert_eq!(result.seconds, 0.5);
    }

    #[cfg(unix)]
    #[test]
    fn errors_are_reported() {
        assert!(read_result("no document", false, 1).unwrap_err().contains("no result"));
        assert!(read_result(TEXT, true, 1).unwrap_err().contains("no request"));
        assert!(
            read_result(&TEXT.replace("\"error\": 0", "\"error\": 22"), false, 1)
                .unwrap_err()
                .contains("nvalid")
        );
        assert!(read_result(&TEXT.replace("usr_cpu", "cpu"), false, 1).unwrap_err().contains("usr_cpu"));
    }
}
