//! The Rust snippet of the main README compiles, as it stands there, and runs.

include!("snippets/readme.rs");

#[test]
fn the_main_readmes_rust_snippet_runs() -> Result<(), retort_host::Error> {
    let (_, after) = include_str!("../../README.md").split_once("```rust\n").expect("a snippet");
    let (snippet, _) = after.split_once("```").expect("its end");
    assert_eq!(snippet, include_str!("snippets/readme.rs"));
    main()
}
