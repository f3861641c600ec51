//! What holds of the native library.

mod adversary;
mod bad_input;
mod corpus;
mod judgement;
mod laws;
mod rows;
mod schemas;
