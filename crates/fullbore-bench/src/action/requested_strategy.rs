//! The strategy that a grid requests. If the planned strategy differs from it, the cell would have a wrong
//! label, so this is an error.
//!
//! Actions on whole files also accept `contenders`: the trial is replaced by one trial for each strategy that the
//! planner would try there.

use std::path::Path;

use fullbore::engine::Method;
use fullbore::error::{Error, ErrorKind, Result};
use fullbore::file::{File, Output};
use fullbore::size;
use fullbore::strategy::{ADAPTIVE, BUDGET, Plan, Planner, Purpose, Strategy, StrategySpec};

use super::workload::{Contender, Workload};
use crate::document::Labels;
use crate::grouping::distinct;

const AUTO: &str = "auto";

/// The name of all contenders of the planner, in place of a strategy.
const CONTENDERS: &str = "contenders";

#[derive(Debug)]
pub(crate) struct RequestedStrategy {
    pub(crate) spec: StrategySpec,
    pub(crate) text: String,
}

impl RequestedStrategy {
    pub(crate) fn new(
        strategy: &str,
        request: Option<&str>,
        depth: Option<u32>,
    ) -> std::result::Result<Self, String> {
        let mut text = strategy.to_owned();
        if let Some(request) = request {
            size::parse(request).map_err(|error| error.to_string())?;
            text.push_str(&format!(",request={request}"));
        }
        if let Some(depth) = depth {
            text.push_str(&format!(",depth={depth}"));
        }
        let spec = text.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { spec, text })
    }

    /// Parses a strategy of a whole file, or `contenders`.
    pub(crate) fn or_contenders(
        strategy: &str,
        request: Option<&str>,
        depth: Option<u32>,
    ) -> std::result::Result<Self, String> {
        if strategy != CONTENDERS {
            return Self::new(strategy, request, depth);
        }
        if request.is_some() || depth.is_some() {
            return Err(format!("{CONTENDERS} have their own `request` and `depth`: leave them out"));
        }
        Ok(Self { spec: StrategySpec::default(), text: CONTENDERS.into() })
    }

    pub(crate) fn is_contenders(&self) -> bool {
        self.text == CONTENDERS
    }

    /// True if a long run tries several strategies.
    pub(crate) fn is_adaptive(&self) -> bool {
        !self.spec.fixed
    }

    /// Plans a run over `len` bytes of `input`, as a tool does; fails if it replaced a requested method.
    pub(crate) fn plan(
        &self,
        purpose: Purpose,
        input: &File,
        len: u64,
        output: Option<&Output>,
    ) -> Result<Plan> {
        let planner = Planner::new(&self.spec).with_text(Some(&self.text));
        let plan = planner.plan(purpose, Some(input), Some(len), output)?;
        self.check_granted(&plan, input.path())?;
        Ok(plan)
    }

    /// Returns the error of a trial that stands for contenders where the planner has none.
    pub(crate) fn no_contenders(path: &Path, len: u64) -> Error {
        let what = format!(
            "auto tries no other strategies on a file of {}; it does on files of {} or more",
            size::human(len),
            size::human(ADAPTIVE)
        );
        Error::new(ErrorKind::Unsupported, "measure", path, what)
    }

    /// Returns the labels for a whole file (`writes`: with an output): of `auto` none that it may change during a run.
    pub(crate) fn labels(&self, plan: Option<&Plan>, writes: bool) -> Labels {
        let labels = Labels { strategy: Some(self.text.clone()), ..Labels::default() };
        if plan.is_some_and(|plan| plan.contenders.differ()) {
            return Labels { method: AUTO.into(), ..labels };
        }
        let strategy = plan.map_or_else(|| self.plain(), |plan| plan.strategy.clone());
        let method = match strategy.read == strategy.write || !writes {
            true => strategy.read.name.to_owned(),
            false => format!("{}+{}", strategy.read.name, strategy.write.name),
        };
        Labels {
            method: method.into(),
            request_bytes: Some(strategy.request as u64),
            depth: Some(strategy.depth as u32),
            workers: Some(strategy.workers as u32),
            model: Some(strategy.model.to_string()),
            allocation: writes.then(|| strategy.allocation.to_string().into()),
            cache_policy: Some(strategy.read_cache.to_string()),
            ..labels
        }
    }

    /// Returns the planned strategy in full, unless a long run tries several.
    pub(crate) fn planned(&self, plan: Option<&Plan>) -> Option<String> {
        plan.filter(|_| !self.is_adaptive()).map(|plan| plan.strategy.to_string())
    }

    /// Returns the strategy without facts of any file.
    pub(crate) fn plain(&self) -> Strategy {
        self.spec.apply(Strategy::plain())
    }

    /// Refuses a plan that replaced a requested method or reduced the depth, unless the memory budget divides it among several
    /// workers.
    pub(crate) fn check_granted(&self, planned: &Plan, path: &Path) -> Result<()> {
        let kept = |spec: Option<&Method>, got: &Method| spec.is_none_or(|spec| spec == got);
        let read = kept(self.spec.read, planned.strategy.read) || planned.plan_input.len.is_none();
        let Strategy { read: reader, write: writer, workers, depth, .. } = planned.strategy;
        let deepest = reader.capabilities.depth.max(writer.capabilities.depth);
        let deep = |spec| spec <= depth || workers > 1 && spec <= deepest;
        if read && kept(self.spec.write, writer) && self.spec.depth.is_none_or(deep) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, "measure", path, planned.notes.join("; ")))
    }
}

/// The trials of all contenders of a plan. They keep the memory budget, which the planner divides between two inputs.
pub(crate) fn contenders<E: Into<String>>(
    plan: &Plan,
    path: &Path,
    build: impl Fn(String) -> std::result::Result<Box<dyn Workload>, E>,
) -> Result<Vec<Contender>> {
    let contender = |strategy: String| {
        let workload = build(strategy.clone())
            .map_err(|error| Error::new(ErrorKind::Invalid, "measure", path, error))?;
        Ok(Contender { strategy, workload })
    };
    texts(plan).into_iter().map(contender).collect()
}

fn texts(plan: &Plan) -> Vec<String> {
    let listed = plan.contenders.cached.iter().chain(&plan.contenders.uncached);
    distinct(listed.map(|one| Strategy { budget: BUDGET, ..one.strategy.clone() }.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_strategies_of_their_own() {
        let requested = RequestedStrategy::or_contenders("contenders", None, None).unwrap();
        assert!(requested.is_contenders() && requested.is_adaptive());
        assert!(RequestedStrategy::or_contenders("contenders", Some("4K"), None).is_err());
        assert!(RequestedStrategy::new("contenders", None, None).is_err());
        let fixed = RequestedStrategy::or_contenders("method=mmap", Some("4K"), None).unwrap();
        assert!(!fixed.is_contenders() && !fixed.is_adaptive());
        assert!(RequestedStrategy::or_contenders("auto", None, None).unwrap().is_adaptive());
    }

    #[test]
    fn a_depth_that_is_not_granted_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("file")).unwrap();
        file.set_len(64 << 20).unwrap();
        let plan = |strategy: &str, depth| {
            let requested = RequestedStrategy::new(strategy, None, Some(depth)).unwrap();
            requested.plan(Purpose::Fold, &file, 64 << 20, None)
        };
        let refused = plan("method=buffered,workers=1", 8).unwrap_err().to_string();
        assert!(refused.contains("depth=1: the maximum of the methods used"), "{refused}");
        assert!(plan("method=buffered,workers=2,model=pool", 8).is_err());
        assert_eq!(plan("method=buffered,workers=1", 1).unwrap().strategy.depth, 1);
        // The memory budget: of one worker the cell would be that of a smaller depth.
        let refused = plan("method=vectored,request=4M,workers=1", 64).unwrap_err().to_string();
        assert!(refused.contains("of memory"), "{refused}");
        assert!(
            plan("method=vectored,request=1M,workers=8,model=pool,stripe=8M", 8).unwrap().strategy.depth < 8
        );
    }

    #[test]
    fn every_contender_of_a_plan_is_listed_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("file")).unwrap();
        file.set_len(ADAPTIVE).unwrap();
        let requested = RequestedStrategy::or_contenders("contenders", None, None).unwrap();
        let plan = requested.plan(Purpose::Fold, &file, ADAPTIVE, None).unwrap();
        let texts = texts(&plan);
        assert_eq!(texts.len(), plan.contenders.cached.len() + plan.contenders.uncached.len(), "{texts:?}");
        for text in &texts {
            let fixed = RequestedStrategy::new(text, None, None).unwrap();
            let planned = fixed.plan(Purpose::Fold, &file, ADAPTIVE, None).unwrap();
            assert_eq!(&planned.strategy.to_string(), text);
            assert!(!planned.contenders.differ(), "{text}");
        }
    }
}
