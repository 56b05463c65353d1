//! Test data: any run can be generated without the runs before it, so many workers can write one file.
//!
//! ```
//! use fullbore::operation::{Generate, generate::Text};
//! let mut line = [0; 80];
//! Text::new(1, 80)?.fill(80_000_000, &mut line); // line one million
//! assert_eq!(line[79], b'\n');
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
mod laws;
mod random;
mod stamped;
mod text;
mod vocabulary;

pub use random::Random;
#[doc(hidden)]
pub use stamped::Stamped;
pub use stamped::Zeros;
pub use text::{LineLengthError, Text};
