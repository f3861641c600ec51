//! The sanitiser's time is linear: twice the hostile text takes twice the instructions.

use std::process::Command;

/// The instructions of one run, counted by valgrind; `None` where valgrind is not installed.
fn instructions(function: &str, bytes: usize) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_sanitise-cost")])
        .args([function, &bytes.to_string()])
        .output()
        .ok()?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{log}");
    let counted = log.lines().find_map(|line| line.split("Collected : ").nth(1)).expect("a count");
    Some(counted.trim().parse().expect("a number"))
}

/// A step above 2 would be a sign of more than linear work; a little is left for growing buffers.
#[test]
fn twice_the_hostile_text_takes_twice_the_instructions() {
    for function in ["fingerprint", "inspect", "redact"] {
        let Some(start) = instructions(function, 0) else {
            println!("valgrind is not installed: nothing was counted");
            return;
        };
        let [once, twice, fourfold] =
            [1024, 2048, 4096].map(|bytes| instructions(function, bytes).expect("a count") - start);
        println!("{function}: {once}, {twice}, {fourfold} instructions");
        assert!(twice * 10 <= once * 23, "{function}: {once}, {twice}");
        assert!(fourfold * 10 <= twice * 23, "{function}: {twice}, {fourfold}");
    }
}
