//! How a plan comes to files and outputs.

use super::Plan;
use crate::file::{File, Output};

impl File {
    /// The same open file under a plan, which goes with every handle made of this one.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore::fault::{Fault, Plan};
    /// use fullbore::file::{File};
    ///
    /// let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// assert!(file.sync_data().is_err());
    /// // The system would say "done" now; the file knows better.
    /// assert!(file.sync_data().is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_faults(&self, plan: &Plan) -> Self {
        self.under_plan(Some(plan.clone()))
    }

    /// The same open file without its plan: for a caller that asks the plan itself.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::fault::Plan;
    /// use fullbore::file::File;
    ///
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&Plan::new(1));
    /// assert!(file.plan().is_some() && file.without_faults().plan().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn without_faults(&self) -> Self {
        self.under_plan(None)
    }
}

impl Output {
    /// The same output under a plan: its transfers, syncs and names are asked about. What was done to open it was not.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore::fault::{Event, Plan};
    /// use fullbore::file::{Durability, Output};
    ///
    /// let plan = Plan::new(1);
    /// let output = Output::replace(directory.path().join("file"))?.with_faults(&plan);
    /// output.file().write_all_at(b"new", 0)?;
    /// output.commit(Durability::Full)?;
    /// assert!(matches!(plan.events().last(), Some(Event::SyncedDirectory(_))));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_faults(self, plan: &Plan) -> Self {
        let file = self.file().with_faults(plan);
        self.on(file)
    }
}
