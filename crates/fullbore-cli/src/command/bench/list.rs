//! `fullbore bench list` and `show`: the built-in experiments.

use clap::Args;
use fullbore_bench::document::Experiment;
use fullbore_bench::experiment::{BUILT_IN, built_in, describe};
use serde_json::{Value, json};

use crate::command::print_json;
use crate::exit::Exit;

/// List the built-in experiments
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Print a JSON list of experiment files: name, and experiments with name, title, question and number of cells
    #[arg(long)]
    json: bool,
}

/// Print an experiment as TOML, the input format of `run`
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Name of the experiment, as printed by `list`
    name: String,
}

impl List {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let mut sets = Vec::new();
        for set in BUILT_IN {
            let experiments =
                describe(set.text).map_err(|error| Exit::failure(format!("{}: {error}", set.name)))?;
            sets.push((set.name, experiments));
        }
        if self.json {
            let cells = |(listed, cells): &(Experiment, usize)| {
                let Experiment { name, title, question, .. } = listed;
                json!({ "name": name, "title": title, "question": question, "cells": cells })
            };
            let set = |(name, experiments): &(&str, Vec<(Experiment, usize)>)| {
                let experiments: Vec<Value> = experiments.iter().map(cells).collect();
                json!({ "name": name, "experiments": experiments })
            };
            return print_json(&sets.iter().map(set).collect::<Value>());
        }
        let widest = sets.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, experiments) in sets {
            let cells: usize = experiments.iter().map(|(_, cells)| cells).sum();
            let title = match name {
                "quick" => format!("{} experiments: the default run of `bench`", experiments.len()),
                _ => experiments[0].0.title.clone(),
            };
            text += &format!("{name:widest$}  {cells:>3} cells  {title}\n");
        }
        Exit::print(&text)
    }
}

impl Show {
    pub(crate) fn run(self) -> Result<(), Exit> {
        match built_in(&self.name) {
            Some(set) => Exit::print(set.text),
            None => Err(Exit::failure(no_such("experiment", &self.name))),
        }
    }
}

/// Returns the message for a name of nothing.
fn no_such(what: &str, name: &str) -> String {
    format!("{name}: no such {what}: `fullbore bench list` prints the names")
}

/// Returns the message for a name of neither an experiment nor a file.
pub(super) fn unknown(name: &str) -> String {
    no_such("experiment or file", name) + "; the name of a file ends in .toml"
}
