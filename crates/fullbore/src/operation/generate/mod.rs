//! Generators of test data. Any run can be generated without the runs before it, so many workers can write one file.

#[cfg(test)]
mod laws;
mod random;
mod stamped;
mod text;

pub use random::Random;
#[doc(hidden)]
pub use stamped::Stamped;
pub use stamped::Zeros;
pub use text::Text;
