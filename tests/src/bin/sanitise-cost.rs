//! Runs one function of the sanitiser once over every hostile text of a size, so that its instructions can be counted:
//! `sanitise-cost redact|inspect|fingerprint BYTES [NUMBER OF ONE TEXT]`.

use std::env;
use std::hint::black_box;

use retort::sanitise::{Dialect, Level, fingerprint, inspect, redact};

/// What hostile texts repeat: openings without ends, ends without openings, and what sends a rule searching.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "'", "\"", "`", "''", "-'a", "\" ", "' '", "«", "» ", "(", ")", ")=(", ")=(x)\n", "[", "{", "{{", "[[value]", "[value]'",
    "a=b;", "key=/", "password=", "password='", "password=\\\"", "pwd={", "user=\"://", "host:host:", "user:a::", "Pwd=a b;",
    "near '", "near 'x' ", "Duplicate entry 'x' ", "dup key: {", "value is (", "contains (", "Key (a)=(b) ", "ERROR: \"", "user 'a",
    "select ", "explain ", "explain select ", "SELECT * FROM ", "insert into a ", "WITH a AS (", "* from ", "[SQL: select 1 ", "[parameters: {", "LINE 1: a\n",
    "://", "a://b", "http://a@", "a@", "a@b.", "1.", ".", "/a", "\\a", "C:\\a ", "~/", "::", "1:", "a:1 ", "0x1", "eyJ", "4111 ", "DE89",
    "$a", "$$", "$a$", "/*", "*/", "--", "-- a\n", "#", "q'[", "E'\\", "a.", "a,", "(1),", "VALUES (", "IN (", "begin ", "user ", "at ",
    "{\"a\":", "[1,", "\"a\":\"", "\\u0041", "{\"sql\":\"", "\u{1b}[", "\u{1b}]", "\u{202e}", "<", "</tool", "ignore all ", "you are ",
    "\n", "\n ", "\n    at ", "\n  File \"", "\n#1 ", "-----BEGIN ", "AUTH a ", "Bearer ", "-p", " -u a", "ä", "ä'1'", "%3D", "\0",
    "containing ", "binding parameter ", "date field [", "password: Some(\"", "&quot;", "&#", "psql -P '", "user_script:1: ", "'a'@", "[\"AUTH\",",
];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let bytes: usize = arguments[2].parse().expect("a number of bytes");
    let only: Option<usize> = arguments.get(3).map(|number| number.parse().expect("the number of a text"));
    for (number, unit) in UNITS.iter().enumerate() {
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let text = unit.repeat(bytes / unit.len());
        match arguments[1].as_str() {
            "redact" => drop(black_box(redact(&text, Level::Strict))),
            "inspect" => drop(black_box(inspect(&text))),
            _ => drop(black_box(fingerprint(&text, Dialect::Generic))),
        }
    }
}
