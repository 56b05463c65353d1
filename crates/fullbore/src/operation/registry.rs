//! The shipped operations, and the parser of their specifications.

use std::fmt;

use super::kernel::Kernel;
use super::maps::{self, Built, built};
use super::traits::Transform;

/// All operations, in the order of the help.
const OPERATIONS: &[Operation] = &[
    Operation {
        usage: "shift:N",
        summary: "add the whole number N to each byte, modulo 256; shift:-N reverses shift:N",
        build: maps::parse_shift,
    },
    Operation {
        usage: "xor:HEX",
        summary: "exclusive-or with the key HEX (two digits per byte), repeated over the file; its own inverse",
        build: maps::parse_xor,
    },
    Operation {
        usage: "caesar:N",
        summary: "rotate a-z, A-Z and 0-9 by the whole number N, each class within itself; caesar:-N reverses it",
        build: maps::parse_caesar,
    },
    Operation {
        usage: "rot13",
        summary: "rotate letters by 13 of 26; its own inverse",
        build: |_, kernel| maps::Rotate::HALF.built("rot13", kernel),
    },
    Operation {
        usage: "upper",
        summary: "make a-z upper case; all other bytes are unchanged",
        build: |_, kernel| built("upper", kernel, maps::to_upper),
    },
    Operation {
        usage: "lower",
        summary: "make A-Z lower case; all other bytes are unchanged",
        build: |_, kernel| built("lower", kernel, maps::to_lower),
    },
    Operation {
        usage: "swab",
        summary: "swap the two bytes of each pair; an odd last byte is unchanged",
        build: |_, kernel| built("swab", kernel, maps::swapped),
    },
    Operation {
        usage: "none",
        summary: "copy the bytes unchanged; through memory, unless the strategy names splice or copy_file_range",
        build: maps::none,
    },
];

/// A shipped operation.
#[derive(Debug)]
pub struct Operation {
    /// Notation of the operation, with the argument if it has one: `shift:N`.
    pub usage: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Creates it; the argument is empty if [`usage`](Self::usage) has none.
    build: fn(&str, Kernel) -> Built,
}

impl Operation {
    /// Returns the name of the operation: `shift`.
    pub fn name(&self) -> &'static str {
        self.usage.split(':').next().unwrap_or_default()
    }
}

/// Returns all shipped operations.
pub fn registry() -> &'static [Operation] {
    OPERATIONS
}

/// Creates the operation that `spec` names, such as `shift:10` or `upper`, to run with `kernel`.
///
/// The operation's `Display` form parses to the same operation.
///
/// # Errors
/// If the text is not an operation; the error contains the correct notation.
pub fn parse(spec: &str, kernel: Kernel) -> Result<Box<dyn Transform>, ParseOperationError> {
    let (name, argument) = spec.split_once(':').map_or((spec, None), |(name, text)| (name, Some(text)));
    let error = |problem| ParseOperationError { spec: spec.to_owned(), problem };
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name() == name) else {
        let usages: Vec<_> = OPERATIONS.iter().map(|operation| operation.usage).collect();
        return Err(error(format!("unknown name {name:?}; the operations are {}", usages.join(", "))));
    };
    let built = match (argument, operation.usage.contains(':')) {
        (None, true) => Err("the argument is missing".to_owned()),
        (Some(_), false) => Err("it takes no argument".to_owned()),
        _ => (operation.build)(argument.unwrap_or_default(), kernel),
    };
    built.map_err(|what| error(format!("{what}; write {} ({})", operation.usage, operation.summary)))
}

/// The error for a text that is not an operation.
#[derive(Debug)]
pub struct ParseOperationError {
    spec: String,
    problem: String,
}

impl fmt::Display for ParseOperationError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "invalid operation {:?}: {}", self.spec, self.problem)
    }
}

impl std::error::Error for ParseOperationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (place, operation) in registry().iter().enumerate() {
            assert!(!operation.summary.contains('\n'));
            assert!(registry()[..place].iter().all(|other| other.name() != operation.name()));
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
            ("xor:abc", &["hexadecimal digits (3)"]),
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
