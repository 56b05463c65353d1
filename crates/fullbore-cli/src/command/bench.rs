//! stub
#[derive(Debug, clap::Args)] pub(crate) struct Bench {} impl Bench { pub(crate) fn run(self)->Result<(),crate::exit::Exit>{Ok(())}}
