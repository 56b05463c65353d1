//! The shipped operations, and the parser of their specifications.

use super::{Kernel, Transform};
use super::{case, none, rotate, shift, swab, xor};
use std::fmt;

/// All operations, in the order of the help. A new one needs its file (with its `mod`) and its line here.
const OPERATIONS: &[Operation] = &[
    shift::SHIFT,
    xor::XOR,
    rotate::CAESAR,
    rotate::ROT13,
    case::UPPER,
    case::LOWER,
    swab::SWAB,
    none::NONE,
];

/// Creates an operation from its argument and kernel, or returns the error in the argument.
type Build = fn(&str, Kernel) -> Result<Box<dyn Transform>, String>;

/// A shipped operation.
#[derive(Debug)]
pub struct Operation {
    /// Its name: `shift`.
    pub name: &'static str,
    /// Its notation, with the argument if it has one: `shift:N`.
    pub usage: &'static str,
    /// Its description in one line.
    pub summary: &'static str,
    /// Creates it; the argument is empty if [`usage`](Self::usage) has none.
    pub(super) build: Build,
}

impl Operation {
    fn takes_argument(&self) -> bool {
        self.usage.contains(':')
    }
}

/// Returns all shipped operations.
#[must_use]
pub fn registry() -> &'static [Operation] {
    OPERATIONS
}

/// Creates the operation that `spec` names, such as `shift:10` or `upper`, to run with `kernel`.
///
/// The operation's `Display` form parses to the same operation.
///
/// ```
/// use fullbore::operation::{Kernel, parse};
/// assert_eq!(parse("shift:+007", Kernel::Simd)?.to_string(), "shift:7");
/// assert!(parse("shift", Kernel::Simd).is_err(), "no number");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the text is not an operation; the error contains the correct notation.
pub fn parse(spec: &str, kernel: Kernel) -> Result<Box<dyn Transform>, ParseOperationError> {
    let (name, argument) = match spec.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (spec, None),
    };
    let error = |problem| ParseOperationError { spec: spec.to_owned(), problem };
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .ok_or_else(|| error(Problem::UnknownName(name.to_owned())))?;
    match argument {
        None if operation.takes_argument() => Err(error(Problem::NoArgument(operation))),
        Some(_) if !operation.takes_argument() => Err(error(Problem::UnexpectedArgument(operation))),
        _ => (operation.build)(argument.unwrap_or_default(), kernel)
            .map_err(|reason| error(Problem::BadArgument(operation, reason))),
    }
}

/// Error of a text that is not an operation.
#[derive(Debug)]
pub struct ParseOperationError {
    spec: String,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    UnknownName(String),
    NoArgument(&'static Operation),
    UnexpectedArgument(&'static Operation),
    BadArgument(&'static Operation, String),
}

impl fmt::Display for ParseOperationError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "invalid operation {:?}: ", self.spec)?;
        let operation = match &self.problem {
            Problem::UnknownName(name) => {
                write!(out, "unknown name {name:?}; the operations are ")?;
                let usages: Vec<_> = OPERATIONS.iter().map(|operation| operation.usage).collect();
                return out.write_str(&usages.join(", "));
            }
            Problem::NoArgument(operation) => {
                write!(out, "the argument is missing")?;
                operation
            }
            Problem::UnexpectedArgument(operation) => {
                write!(out, "it takes no argument")?;
                operation
            }
            Problem::BadArgument(operation, reason) => {
                write!(out, "{reason}")?;
                operation
            }
        };
        write!(out, "; write {} ({})", operation.usage, operation.summary)
    }
}

impl std::error::Error for ParseOperationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_begin_their_usage() {
        for (place, operation) in registry().iter().enumerate() {
            assert_eq!(operation.usage.split(':').next(), Some(operation.name));
            assert!(!operation.summary.contains('\n'));
            assert!(registry()[..place].iter().all(|other| other.name != operation.name));
        }
    }

    #[test]
    fn the_display_form_parses_back() {
        for (spec, printed) in [
            ("shift:10", "shift:10"),
            ("shift:+007", "shift:7"),
            ("shift:-0", "shift:0"),
            ("shift:-123456789012345678901234567890", "shift:-123456789012345678901234567890"),
            ("xor:0A", "xor:0a"),
            ("xor:00ffC0de", "xor:00ffc0de"),
            ("caesar:-3", "caesar:-3"),
            ("rot13", "rot13"),
            ("upper", "upper"),
            ("lower", "lower"),
            ("swab", "swab"),
            ("none", "none"),
        ] {
            for kernel in [Kernel::Simd, Kernel::Scalar] {
                let operation = parse(spec, kernel).unwrap();
                assert_eq!(operation.to_string(), printed);
                assert_eq!(parse(printed, kernel).unwrap().to_string(), printed);
            }
        }
    }

    #[test]
    fn errors_contain_the_problem_and_the_notation() {
        for (spec, parts) in [
            ("", &["unknown name \"\"", "shift:N, xor:HEX, caesar:N, rot13"][..]),
            ("Shift:1", &["unknown name \"Shift\"", "upper, lower, swab, none"]),
            ("shift", &["argument is missing", "write shift:N"]),
            ("shift:", &["\"\" is not a whole number", "write shift:N"]),
            ("shift:1.5", &["\"1.5\" is not a whole number"]),
            ("caesar:x", &["\"x\" is not a whole number", "write caesar:N"]),
            ("xor:", &["the key is empty", "write xor:HEX"]),
            ("xor:abc", &["3 hexadecimal digits"]),
            ("xor:0xff", &["'x' is not a hexadecimal digit"]),
            ("xor:ß0", &["'ß' is not a hexadecimal digit"]),
            ("upper:1", &["it takes no argument", "write upper"]),
            ("none:", &["it takes no argument", "write none"]),
        ] {
            let message = parse(spec, Kernel::Simd).err().expect(spec).to_string();
            assert!(message.contains(&format!("invalid operation {spec:?}")), "{message}");
            for part in parts {
                assert!(message.contains(part), "{spec}: {message}");
            }
        }
    }
}
