//! `fullbore grep`: what is asked for, where it is looked for, and what comes of it in order.

pub(crate) mod asked;
mod file;
pub(crate) mod flags;
mod haystacks;
mod print;
mod run;
mod walk;

pub(crate) use run::run;
