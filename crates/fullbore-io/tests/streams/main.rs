//! Streams over files: the rules of .NET's `FileStream`, by its names, and `std::io::Cursor` as a model.

use std::io::{BufRead, IoSlice, Read, Seek, SeekFrom, Write};
use std::thread;
use std::time::Duration;

use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::{File, OpenOptions};
use fullbore_io::stream::FileStream;
use fullbore_testkit::ground::{bytes, write_file};
use fullbore_testkit::processes::alone;

mod losses;
mod model;
mod pipes;
mod rules;
