//! What the tests share: the independent reading of the contract, the corpus, the search for leaks, and the
//! maintainers' side of the tables.

pub mod reading;
pub mod simulation;
pub mod tables;
