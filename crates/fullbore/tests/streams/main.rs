//! Streams over files: the rules of .NET's `FileStream`, by its names, and `std::io::Cursor` as a model.

#[path = "../ground/mod.rs"]
mod ground;

mod calls;
mod losses;
mod model;
mod pipes;
mod rules;
