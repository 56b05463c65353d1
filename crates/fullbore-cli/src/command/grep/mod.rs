//! `fullbore grep`: flags, haystacks, search and ordered output.

mod args;
mod command;
mod file;
mod flags;
mod haystacks;
mod parse;
mod print;
mod run;
mod settings;
mod walk;

pub(crate) use self::run::Grep;
