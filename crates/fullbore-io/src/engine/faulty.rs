//! An engine under a plan: `IoQueue::open` inserts it above the engine of a file that carries a plan.

use std::io;

use super::method::{Engine, EngineConfig, Method};
use crate::buf::{Completion, Direction, Request};
use crate::fault::call::{Call, Operation, Verdict};
use crate::fault::plan::Plan;
use crate::fault::rules::MappedUnder;

use crate::file::File;

/// An engine that consults a plan before every request, view and kernel copy. Calls that the plan fails never reach the engine
/// below.
pub struct Faulty {
    engine: Box<dyn Engine>,
    to: Option<(Plan, File)>,
    from: Option<(Plan, File)>,
    /// Unit of shortened transfers, in bytes.
    unit: usize,
    failed: Vec<Completion>,
    /// Token of a request that the plan permitted but the engine's full queue returned.
    passed: Option<u64>,
    /// Counts the engine's mapping of the file.
    _mapped: Option<MappedUnder>,
}

impl Faulty {
    /// Puts `engine` under the plans of its file `to` and its source `from`. `unit` is the unit of shortened transfers, in
    /// bytes. The engine must have been opened on the files [without](File::without_faults) their plans, or each call would
    /// be counted twice.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::engine::Engine;
    /// use fullbore_io::fault::{Fault, Faulty, Plan};
    /// use fullbore_io::file::File;
    ///
    /// /// An engine that lends zeros.
    /// struct Zeros([u8; 8]);
    /// impl Engine for Zeros {
    ///     fn view(&mut self, _offset: u64, len: usize) -> std::io::Result<&[u8]> {
    ///         Ok(&self.0[..len])
    ///     }
    /// }
    ///
    /// let plan = Plan::new(1).with(Fault::IoErrorOn { call: 2 });
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// let mut engine = Faulty::new(Box::new(Zeros([0; 8])), &file, None, 1);
    /// assert!(engine.view(0, 8).is_ok() && engine.view(0, 8).is_err() && engine.view(0, 8).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(engine: Box<dyn Engine>, to: &File, from: Option<&File>, unit: usize) -> Self {
        let carried = |file: &File| file.plan().map(|plan| (plan.clone(), file.without_faults()));
        Self {
            engine,
            to: carried(to),
            from: from.and_then(carried),
            unit,
            failed: Vec::new(),
            passed: None,
            _mapped: None,
        }
    }
}

/// Opens an engine, under the plans of its files if they carry any.
pub(crate) fn wrap(method: &Method, config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let source = config.from.filter(|file| file.plan().is_some());
    if config.file.plan().is_none() && source.is_none() {
        return (method.open)(config);
    }
    let plan = config.file.plan();
    // The calls of the engine itself are bound by the device.
    let file = config.file.under_plan(plan.and_then(Plan::device));
    let from = config.from.map(File::without_faults);
    let most = plan.and_then(Plan::buffers);
    let depth = match most {
        Some(most) if method.capabilities.batched => config.depth.min(most),
        _ => config.depth,
    };
    let engine = (method.open)(&EngineConfig { file: &file, from: from.as_ref(), depth, ..*config })?;
    let direct = method.capabilities.passes_cache(config.cache);
    let unit = if direct { file.direct_alignment() } else { 1 };
    let mapped = plan.filter(|_| method.capabilities.mapped).and_then(|plan| plan.mappings().add(&file));
    Ok(Box::new(Faulty { _mapped: mapped, ..Faulty::new(engine, config.file, config.from, unit) }))
}

fn ask(carried: &Option<(Plan, File)>, unit: usize, call: Call<'_>) -> io::Result<Option<usize>> {
    match carried {
        Some((plan, file)) => plan.before(&Operation { file, unit, memory: 0, call }).into_result().map(Some),
        None => Ok(None),
    }
}

impl Engine for Faulty {
    fn queue(&mut self, mut request: Request) -> Result<(), Request> {
        if self.passed != Some(request.token)
            && let Some((plan, file)) = &self.to
        {
            let (offset, len, memory) = (request.offset, request.len(), request.memory().0.addr());
            let call = match request.direction {
                Direction::Read => Call::Read { offset, len },
                Direction::Write => Call::Write { offset, len },
            };
            match plan.before(&Operation { file, unit: self.unit, memory, call }) {
                Verdict::Go(most) => request.most = most,
                Verdict::Fail(error) => {
                    self.failed.push(Completion { request, result: Err(error) });
                    return Ok(());
                }
            }
        }
        let token = request.token;
        let queued = self.engine.queue(request);
        self.passed = queued.is_err().then_some(token);
        queued
    }

    fn commit(&mut self) -> io::Result<()> {
        self.engine.commit()
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let least = least.saturating_sub(self.failed.len());
        done.append(&mut self.failed);
        self.engine.reap(least, done)
    }

    fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        ask(&self.to, 1, Call::View { offset, len })?;
        self.engine.view(offset, len)
    }

    fn view_mut(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        ask(&self.to, 1, Call::Change { offset, len })?;
        self.engine.view_mut(offset, len)
    }

    fn check(&self) -> io::Result<()> {
        self.engine.check()
    }

    fn copy_in_kernel(&mut self, offset: u64, target: u64, len: usize) -> io::Result<usize> {
        let len = ask(&self.from, 1, Call::Read { offset, len })?.unwrap_or(len);
        let len = ask(&self.to, 1, Call::Write { offset: target, len })?.unwrap_or(len);
        self.engine.copy_in_kernel(offset, target, len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.engine.flush()
    }
}
