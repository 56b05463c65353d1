//! stub
#[derive(Debug, clap::Args)]
pub(crate) struct Profile {}
impl Profile {
    pub(crate) fn run(self) -> Result<(), crate::exit::Exit> {
        Ok(())
    }
}
