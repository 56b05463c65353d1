//! `fullbore grep`: flags, haystacks, search and ordered output.

pub(crate) mod args;
mod command;
pub(crate) mod config;
mod file;
mod flag;
pub(crate) mod flags;
mod generate;
mod haystacks;
mod links;
mod log;
mod print;
mod run;
mod walk;

pub(crate) use run::run;
