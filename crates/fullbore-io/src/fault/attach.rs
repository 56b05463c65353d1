//! Attaches plans to files and outputs.

use super::Plan;
use crate::file::{File, Output};

impl File {
    /// Returns the same open file under a plan, which every handle made from it inherits.
    ///
    /// ```
    /// # fn main() -> fullbore_io::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::fault::{Fault, Plan};
    /// use fullbore_io::file::File;
    ///
    /// let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// assert!(file.sync_data().is_err());
    /// // The kernel would report success now; the poisoned file does not.
    /// assert!(file.sync_data().is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_faults(&self, plan: &Plan) -> Self {
        self.under_plan(Some(plan.clone()))
    }

    /// Returns the same open file without its plan, for a caller that consults the plan itself.
    #[must_use]
    pub fn without_faults(&self) -> Self {
        self.under_plan(None)
    }
}

impl Output {
    /// Puts the output under a plan, which covers its transfers, syncs and names but not the calls that opened it.
    ///
    /// ```
    /// # fn main() -> fullbore_io::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::fault::{Event, Plan};
    /// use fullbore_io::file::{Durability, Output};
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
