//! What the tests share: the independent reading of the contract, the laws, the corpus, arbitrary reports, the search
//! for leaks, the simulation, the sizes of a component's parts, and the maintainers' side of the tables.

pub mod arbitrary;
pub mod corpus;
pub mod golden;
pub mod laws;
pub mod leak;
pub mod properties;
pub mod reading;
pub mod simulation;
pub mod sizes;
pub mod tables;
