//! Streams over files: the rules of .NET's `FileStream`, by its names, and `std::io::Cursor` as a model.

mod losses;
mod model;
mod pipes;
mod rules;
