//! What the tests share: the independent reading of the contract, the corpus, and the search for leaks.

pub mod reading;
