//! What holds of the native library.

mod judgement;
