//! The data of the cases: each made when the first case needs it, all removed at the end.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fullbore::file::{File, Temporary};
use fullbore::{probe, size};

use super::harness::Attempt;
use super::harness::directory::{create, free, start, sync};
use super::options::Options;
use super::{states, text, tree};

/// The data of a case; its name in lower case is that of its file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Input,
    Text,
    /// UTF-8 text of which a fifth is not ASCII.
    Wide,
    /// A copy of the text in blocks of its own.
    Twin,
    /// The text with a different byte within its first MB.
    Other,
    Sources,
    /// The largest number of files.
    Crowd,
    /// Files, some of them equal.
    Doubles,
    /// A large text and its copy, in a directory of their own.
    Large,
}

/// The directory of the data, and the data made so far.
pub(crate) struct DataSet {
    directory: Temporary,
    options: Options,
    /// Fullbore's.
    pub(crate) binary: PathBuf,
    /// Bytes of each large text.
    pub(crate) large: u64,
    made: HashSet<Data>,
    /// For each file of the doubles, true if it has an equal.
    pub(crate) equal: Vec<bool>,
}

impl DataSet {
    /// A directory for the data, without data.
    pub(crate) fn make(options: &Options, binary: &Path) -> Attempt<Self> {
        let needed = options.size.saturating_mul(6);
        let advice = "use a smaller --size or another --dir";
        let directory = create(&options.common.dir, "tools", needed, advice)?;
        fs::create_dir(directory.path().join("answers"))?;
        Ok(Self {
            directory,
            options: options.clone(),
            binary: binary.to_owned(),
            large: 0,
            made: HashSet::new(),
            equal: Vec::new(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The path of data, made or not.
    pub(crate) fn of(&self, data: Data) -> PathBuf {
        match (data, &self.options.text, &self.options.tree) {
            (Data::Text, Some(own), _) | (Data::Sources, _, Some(own)) => own.clone(),
            _ => self.path(&format!("{data:?}").to_lowercase()),
        }
    }

    /// The number of files of the smaller trees.
    pub(crate) fn some(&self) -> usize {
        self.options.files * 2 / 5
    }

    pub(crate) fn need(&mut self, data: Data) -> Attempt<()> {
        if self.made.contains(&data) {
            return Ok(());
        }
        let (path, text) = (self.of(data), self.of(Data::Text));
        let (size, seed) = (self.options.size, self.options.common.seed);
        let own = match data {
            Data::Text => self.options.text.is_some(),
            Data::Sources => self.options.tree.is_some(),
            Data::Wide | Data::Twin | Data::Other => {
                self.need(Data::Text)?;
                false
            }
            _ => false,
        };
        if !own {
            eprintln!("making {}", path.display());
            match data {
                Data::Input => self.random(&path)?,
                Data::Text => text::plain(&path, size, seed)?,
                Data::Wide => text::wide(&path, &text, size, seed)?,
                Data::Twin => states::whole(&path, &text)?,
                Data::Other => {
                    states::whole(&path, &text)?;
                    change(&path, size.min(1_000_000) * 9 / 10)?;
                }
                Data::Sources => tree::sources(&path, self.some(), seed)?,
                Data::Crowd => tree::crowd(&path, self.options.files, seed)?,
                Data::Doubles => self.equal = tree::doubles(&path, self.some(), size / 4, seed)?,
                Data::Large => self.large = large(&path, size.saturating_mul(10), seed)?,
            }
            // Write-back must be done before other commands are measured.
            sync(self.root())?;
        }
        self.made.insert(data);
        Ok(())
    }

    fn random(&self, path: &Path) -> Attempt<()> {
        let mut generate = Command::new(&self.binary);
        generate.args(["gen", &self.options.size.to_string()]).arg(path);
        generate.args(["--sync", "data", "--progress", "never"]);
        if !start(&mut generate)?.wait()?.success() {
            return Err("the data file could not be created".into());
        }
        match probe::provenance(&File::open(path)?)
            .ok()
            .and_then(|provenance| provenance.measurement_problem())
        {
            Some(why) => Err(format!("{}: {why}: measurements on it would be wrong", path.display()).into()),
            None => Ok(()),
        }
    }

    /// Removes data that no later case needs.
    pub(crate) fn forget(&mut self, data: Data) {
        if self.made.remove(&data) && self.of(data).starts_with(self.root()) {
            states::remove(&self.of(data));
        }
    }
}

fn change(path: &Path, at: u64) -> Attempt<()> {
    let file = fs::File::options().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at)?;
    Ok(file.write_all_at(&[byte[0] ^ 1], at)?)
}

/// A directory with a text and its copy, of `wanted` bytes each, or fewer if that would leave less than a tenth of the free
/// space; returns the number of bytes.
fn large(path: &Path, wanted: u64, seed: u64) -> Attempt<u64> {
    let parent = path.parent().ok_or("data has a directory")?;
    let free = free(parent)?;
    // A third file, its copy, is made later.
    let bytes = wanted.min(free / 10 * 9 / 3);
    if bytes < 100_000_000 && bytes < wanted {
        return Err(format!("{} free: too little for a large file", size::human(free)).into());
    }
    fs::create_dir(path)?;
    text::plain(&path.join("one"), bytes, seed)?;
    text::plain(&path.join("two"), bytes, seed)?;
    Ok(bytes)
}
