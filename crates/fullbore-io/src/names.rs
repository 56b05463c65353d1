//! Values that have names: what users write on the command line and read in reports.

/// Implements `Display` and `FromStr` for an enum of named values.
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    ($type:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$value => $name),+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::ParseError;

            fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
                match text {
                    $($name => Ok(Self::$value),)+
                    _ => {
                        let names = [$($name),+].join(", ");
                        Err($crate::error::ParseError::new(format!("{text:?} is not one of {names}")))
                    }
                }
            }
        }
    };
}
