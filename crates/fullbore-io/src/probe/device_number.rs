//! Device numbers of the kernel.

use std::fmt;
use std::str::FromStr;

/// The major and minor number of a device, written `254:0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
pub struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

impl From<(u32, u32)> for DeviceNumber {
    fn from((major, minor): (u32, u32)) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl From<DeviceNumber> for String {
    fn from(number: DeviceNumber) -> Self {
        number.to_string()
    }
}

impl FromStr for DeviceNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a device number: write MAJOR:MINOR, such as 8:16");
        let (major, minor) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self { major: major.parse().map_err(|_| wrong())?, minor: minor.parse().map_err(|_| wrong())? })
    }
}

impl TryFrom<String> for DeviceNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_its_display_form_and_rejects_others() {
        let number: DeviceNumber = "254:3".parse().unwrap();
        assert_eq!(number, DeviceNumber::from((254, 3)));
        assert_eq!(number.to_string(), "254:3");
        for wrong in ["", "254", "a:b", "1:2:3", "-1:0"] {
            assert!(wrong.parse::<DeviceNumber>().is_err(), "{wrong:?}");
        }
    }
}
