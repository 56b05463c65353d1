//! Labels with a fixed vocabulary. Terms that the code compares are variants; any other text, such as that of an
//! interface or of a later version, is kept unchanged.

use fullbore::engine::{self, CachePolicy, Method};
use serde::{Deserialize, Serialize};

/// Returns the word of a variant in documents and experiments.
pub(crate) fn word(variant: impl Serialize) -> String {
    let value = serde_json::to_value(variant);
    value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Defines an enum of terms, each with its text in documents (and other texts that mean it there).
macro_rules! terms {
    ($(#[$about:meta])* $name:ident { $($term:ident = $text:literal $(| $old:literal)*,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] $term,)+
            /// Any other text.
            Other(String),
        }

        impl $name {
            /// Returns the text in documents.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$term => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                text.to_owned().into()
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text $(| $old)* => Self::$term,)+
                    _ => Self::Other(text),
                }
            }
        }

        impl From<$name> for String {
            fn from(term: $name) -> Self {
                term.as_str().to_owned()
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }
    };
}

terms! {
    /// The work of a cell.
    Operation {
        Read = "read",
        Write = "write",
        Append = "append",
        Copy = "copy",
        CountLines = "count lines",
        SmallFiles = "small files",
    }
}

terms! {
    /// The access method of a cell: one of the registry, two of them (`mmap+buffered`), or an interface.
    AccessMethod {
        Buffered = "buffered",
        Direct = "direct",
        Command = "command",
        Memory = "memory",
    }
}

terms! {
    /// The order of requests.
    Order {
        Sequential = "sequential",
        Random = "random",
        RandomOverHalf = "random over half",
    }
}

terms! {
    /// The state of an output before the measurement.
    FileState {
        Existing = "existing",
        Overwritten = "overwritten",
        Truncated = "truncated",
        Extended = "extended",
        New = "new",
        Preallocated = "preallocated",
    }
}

terms! {
    /// The allocation of an output.
    Allocation {
        Extend = "extend",
        Size = "size",
        Reserve = "reserve",
        Fallocate = "fallocate" | "preallocate",
    }
}

impl Operation {
    /// True for a plain read or write of a file.
    pub fn is_transfer(&self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

impl AccessMethod {
    /// Returns the registered method.
    pub fn registered(&self) -> Option<&'static Method> {
        engine::method(self)
    }

    /// Returns the methods of reads and of writes; of one method for both, that one.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        self.split('+')
    }

    /// True if reads and writes have different methods.
    pub(crate) fn is_pair(&self) -> bool {
        self.parts().count() > 1
    }

    /// True if bytes are accessed through a mapping. Peers have names of their own.
    pub(crate) fn is_mapped(&self) -> bool {
        self.parts().any(|part| {
            engine::method(part).map_or_else(|| part.contains("mmap"), |method| method.capabilities.mapped)
        })
    }

    /// True if the method bypasses the page cache under every policy.
    pub(crate) fn always_bypasses_cache(&self) -> bool {
        self.registered().is_some_and(|method| method.capabilities.passes_cache(CachePolicy::Keep))
    }

    /// True if a storage is measured: not memory, nor the loop without requests.
    pub(crate) fn uses_storage(&self) -> bool {
        *self != Self::Memory && self.registered().is_none_or(|method| method.capabilities.storage)
    }
}

impl Order {
    /// True for requests at random places of the file, or of a part of it.
    pub(crate) fn is_random(&self) -> bool {
        matches!(self, Self::Random | Self::RandomOverHalf)
    }
}
