//! stub
#[derive(Debug, clap::Args)]
pub(crate) struct Probe {}
impl Probe {
    pub(crate) fn run(self) -> Result<(), crate::exit::Exit> {
        Ok(())
    }
}
