//! The drivers: which system they speak to, and whether they repeat requests by themselves.

use super::packed::DRIVERS;
use crate::systems::System;

/// What a driver's name says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Driver {
    /// The name in the table's spelling.
    pub name: &'static str,
    /// The system it speaks to, where it is only one.
    pub system: Option<System>,
    /// May it send a request again by itself, unless it is told not to?
    pub replays: bool,
}

/// The driver of a name. Case, `-`, `_`, `.` and blanks do not matter; `None` for any other text.
pub fn driver(name: &str) -> Option<Driver> {
    let place = DRIVERS.binary_search_by(|driver| folded(driver.name).cmp(folded(name))).ok()?;
    DRIVERS.get(place).copied()
}

/// The letters and digits of a name, lower case.
fn folded(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.' | ' ')).map(|c| c.to_ascii_lowercase())
}
