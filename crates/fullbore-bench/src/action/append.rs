//! Appends records to a log; each is on the device before the next is written.

use std::time::Instant;

use fullbore::Result;
use fullbore::file::{Durability, File, Mode, OpenOptions};
use fullbore::operation::Generate;
use fullbore::operation::generate::{Random, Stamped};
use serde::Deserialize;

use super::settings::{Bytes, FileState, Settings, settings};
use super::workload::{
    DeviceIo, ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::{Labels, word};
use crate::test_files::Needs;

/// Least number of records of a sample.
const LEAST: u64 = 8;
/// Largest number of records of the first sample, whose length ignores the cost of a flush.
const FIRST: u64 = 32;
/// Distance of the stamps in the data, in bytes.
const BLOCK: u64 = 4096;
/// Longest record in bytes.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AppendSpec {
    /// Length of a record.
    record: Bytes,
    #[serde(default)]
    sync: SyncCall,
    #[serde(default = "extended")]
    file: FileState,
}

fn extended() -> FileState {
    FileState::Extended
}

/// The call that brings a record to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum SyncCall {
    #[default]
    Fdatasync,
    /// No call: the file is opened with `O_DSYNC`.
    Dsync,
}

#[derive(Debug)]
struct AppendWorkload {
    spec: AppendSpec,
    /// Records of the next run; 0 before the first.
    records: u64,
    data: Stamped,
    log: Option<File>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: AppendSpec = settings(given)?;
    if spec.file == FileState::Truncated {
        return Err("file: a log is extended, preallocated or overwritten, not truncated".into());
    }
    if !(1..=LONGEST).contains(&spec.record.0) {
        return Err(format!("record: must be from 1 to {LONGEST} bytes"));
    }
    let data = Stamped::new(0, spec.record.0 as usize);
    Ok(Box::new(AppendWorkload { spec, records: 0, data, log: None }))
}

impl AppendWorkload {
    /// Writes the records of a sample, each on the device before the next.
    fn append(&self, log: &File) -> Result<()> {
        let record = self.spec.record.0;
        let mut data = vec![0; record as usize];
        self.data.fill(0, &mut data);
        for number in 0..self.records {
            let offset = number * record;
            // Records of whole blocks differ by the stamps of these.
            match record.is_multiple_of(BLOCK) {
                true => self.data.renew(offset, &mut data),
                false => self.data.fill(offset, &mut data),
            }
            log.write_all_at(&data, offset)?;
            if self.spec.sync == SyncCall::Fdatasync {
                log.sync_data()?;
            }
        }
        Ok(())
    }
}

impl Workload for AppendWorkload {
    fn needs(&self) -> Needs {
        Needs { fresh: true, extra: LEAST * self.spec.record.0, ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        Labels {
            request_bytes: Some(self.spec.record.0),
            depth: Some(1),
            workers: Some(1),
            file_state: Some(word(self.spec.file).into()),
            order: Some("sequential".into()),
            flush: Some(true),
            variant: (self.spec.sync == SyncCall::Dsync).then(|| "O_DSYNC".into()),
            ..Labels::of("append", "buffered")
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        test_files.has_files()?;
        context.check_device(true)
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        context.clean_up(self)?;
        let fitting = (context.test_files().len / self.spec.record.0).max(LEAST);
        let most = if self.records == 0 { FIRST.min(fitting) } else { fitting };
        self.records = (iteration.span / self.spec.record.0).max(LEAST).min(most);
        let through = match self.spec.sync {
            SyncCall::Fdatasync => Durability::None,
            SyncCall::Dsync => Durability::Data,
        };
        let path = &context.test_files().fresh;
        let log = OpenOptions::new().mode(Mode::CreateNew).write_through(through).open(path)?;
        let len = self.records * self.spec.record.0;
        match self.spec.file {
            FileState::Extended | FileState::Truncated => {}
            FileState::Preallocated => log.allocate_and_extend(len)?,
            FileState::Overwritten => {
                const PIECE: u64 = 1 << 20;
                let (random, mut old) = (Random::new(context.seed), vec![0; PIECE.min(len) as usize]);
                for start in (0..len).step_by(PIECE as usize) {
                    let old = &mut old[..PIECE.min(len - start) as usize];
                    random.fill(start, old);
                    log.write_all_at(old, start)?;
                }
            }
        }
        log.sync_all()?;
        self.log = Some(log);
        Ok(ExpectedState { device: DeviceIo::Writes, ..ExpectedState::default() })
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, _context: &RunContext<'_>) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        // Over the last record, so that the sample finds the rest of the log as prepared.
        let last = (self.records - 1) * self.spec.record.0;
        let data = vec![0; self.spec.record.0 as usize];
        repeat_until(ramp.enough, || {
            log.write_all_at(&data, last)?;
            log.sync_data()
        })?;
        if self.spec.file == FileState::Extended { log.set_len(0) } else { Ok(()) }
    }

    fn run(&mut self, _context: &RunContext<'_>) -> Result<RunResult> {
        let Some(log) = &self.log else { return Ok(RunResult::default()) };
        let clock = Instant::now();
        self.append(log)?;
        let seconds = clock.elapsed().as_secs_f64();
        Ok(RunResult::timed(self.records * self.spec.record.0, seconds, self.records, Some(1.0)))
    }

    fn clean_up(&mut self, _context: &RunContext<'_>) -> Result<()> {
        self.log = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_differ_by_label() {
        let labels = |text: &str| parse(toml::from_str(text).unwrap()).unwrap().labels();
        let plain = labels("record = '4K'");
        assert_eq!((plain.file_state.as_deref(), plain.variant.as_deref()), (Some("extended"), None));
        let dsync = labels("record = '4K'\nsync = 'dsync'\nfile = 'overwritten'");
        assert_eq!(
            (dsync.file_state.as_deref(), dsync.variant.as_deref()),
            (Some("overwritten"), Some("O_DSYNC"))
        );
    }

    #[test]
    fn every_record_is_in_the_log_and_differs_from_the_others() {
        let directory = tempfile::tempdir().unwrap();
        for record in [1000, 8192] {
            let log = File::create_new(directory.path().join(record.to_string())).unwrap();
            let spec =
                AppendSpec { record: Bytes(record), sync: SyncCall::Fdatasync, file: FileState::Extended };
            let data = Stamped::new(7, record as usize);
            let workload = AppendWorkload { spec, records: 5, data, log: None };
            workload.append(&log).unwrap();
            let written = std::fs::read(log.path()).unwrap();
            assert_eq!(written.len() as u64, 5 * record);
            let records: std::collections::BTreeSet<&[u8]> = written.chunks(record as usize).collect();
            assert_eq!(records.len(), 5, "{record}");
        }
    }
}
