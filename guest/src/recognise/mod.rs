//! Evidence → finding: one condition, what it proves, and the rule that said so.

mod finding;

pub use finding::{Finding, Marks};
