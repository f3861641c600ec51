//! `retort drill --target`: the scores of servers with known manners, of our own, and of two published ones.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const RETORT: &str = env!("CARGO_BIN_EXE_retort");
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the kit: the card, and whether the command says that all holds.
fn score(target: &str, arguments: &[&str]) -> (Value, bool) {
    let output = Command::new(RETORT)
        .args(["--native", "drill", "--json", "--target", target])
        .args(arguments)
        .output()
        .expect("the command starts");
    let card = serde_json::from_slice(&output.stdout);
    let card: Value = card.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (card, output.status.success())
}

/// The names of the rows that were measured and do not hold.
fn broken(card: &Value) -> Vec<&str> {
    let checks = card["checks"].as_array().expect("rows").iter();
    let broken = checks.filter(|check| check["made"] != check["held"]);
    broken.map(|check| check["name"].as_str().expect("a name")).collect()
}

/// How often a row held, and how often it was checked.
fn row(card: &Value, name: &str) -> (u64, u64) {
    let mut checks = card["checks"].as_array().expect("rows").iter();
    let check = checks.find(|check| check["name"] == name).expect("the row");
    (check["held"].as_u64().expect("a number"), check["made"].as_u64().expect("a number"))
}

fn skipped(card: &Value) -> Vec<&str> {
    let checks = card["checks"].as_array().expect("rows").iter();
    checks.filter_map(|check| check["skipped"].as_str()).collect()
}

const REFUSED: &str = "calls that the schema forbids are refused";
const READABLE: &str = "refusals are envelopes: code, category, outcome, next step";
const SETTLED: &str = "refusals say that nothing was started, and forbid the same call again";
const PUBLIC: &str = "errors hold nothing of arguments, statements, hosts or credentials";
const FAILED: &str = "a statement that cannot succeed is an error, not a result";
const TRACED: &str = "every error has a trace id of its own";
const OUTLIVES: &str = "the server outlives everything";

#[test]
fn manners_show_in_the_rows_that_they_break() {
    let stub = |manners: &str| score(&format!("python3 {HERE}/tests/published/stub.py {manners}"), &[]);
    let (card, is_full) = stub("polite");
    assert_eq!((broken(&card), is_full), (Vec::new(), true), "{card}");
    assert_eq!((row(&card, REFUSED), &card["server"]["name"]), ((3, 3), &"polite".into()));

    let (card, is_full) = stub("echoing");
    assert_eq!((broken(&card), is_full), (vec![READABLE, SETTLED, PUBLIC, TRACED], false), "{card}");

    let (card, is_full) = stub("careless");
    assert_eq!((broken(&card), is_full), (vec![REFUSED], false), "{card}");

    let (card, is_full) = stub("dying");
    assert_eq!((broken(&card), is_full), (vec![REFUSED, OUTLIVES], false), "{card}");
    assert_eq!(row(&card, REFUSED), (0, 3));
}

#[test]
fn our_own_server_gets_full_marks_over_stdio() {
    let folder = TempDir::new().expect("a folder");
    let serve = format!("{RETORT} --native serve --data {}", folder.path().display());
    let (card, is_full) = score(&serve, &["--allow-writes"]);
    assert_eq!((broken(&card), is_full), (Vec::new(), true), "{card}");
    assert_eq!(skipped(&card), ["stdio has no token", "needs the server's database"]);
    assert_eq!(row(&card, "a key with another payload is refused"), (1, 1));
    assert_eq!(row(&card, FAILED), (1, 1));
    // Without permission to write nothing is written.
    let folder = TempDir::new().expect("a folder");
    let serve = format!("{RETORT} --native serve --data {}", folder.path().display());
    let (card, is_full) = score(&serve, &[]);
    assert_eq!((broken(&card), is_full), (Vec::new(), true), "{card}");
    let database = rusqlite::Connection::open(folder.path().join("shop.sqlite")).expect("the database");
    let changes = database.query_row("SELECT count(*) FROM changes", (), |row| row.get::<_, i64>(0));
    assert_eq!(changes, Ok(0));
}

/// A server that is ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn our_own_server_gets_full_marks_over_http() {
    let folder = TempDir::new().expect("a folder");
    let mut server = Command::new(RETORT)
        .args(["--native", "serve", "--http", "127.0.0.1:0", "--data"])
        .arg(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let _server = Served(server);
    let mut said = |what: &str| loop {
        let line = lines.next().expect("the server says it").expect("text");
        if let Some(rest) = line.strip_prefix(what) {
            return rest.to_owned();
        }
    };
    let (token, url) = (said("bearer token: "), said("serving "));
    std::thread::spawn(move || lines.for_each(drop));
    let (card, is_full) = score(&url, &["--token", &token, "--allow-writes"]);
    assert_eq!((broken(&card), is_full), (Vec::new(), true), "{card}");
    assert_eq!(skipped(&card), ["needs the server's database"]);
    assert_eq!(row(&card, "without its token nothing is answered"), (3, 3));
}

/// The published server's command; `None`, and a word about it, where `make test` has not installed it.
fn published(command: &Path, arguments: &str) -> Option<String> {
    if !command.exists() {
        eprintln!("SKIPPED: {} is not there; make published installs it", command.display());
        return None;
    }
    Some(format!("{} {arguments}", command.display()))
}

#[test]
fn the_published_sqlite_server_repeats_what_it_was_given() {
    let folder = TempDir::new().expect("a folder");
    let command = Path::new(HERE).join("../target/published/bin/mcp-server-sqlite");
    let database = format!("--db-path {}/some.sqlite", folder.path().display());
    let Some(command) = published(&command, &database) else { return };
    let (card, is_full) = score(&command, &["--allow-writes"]);
    assert_eq!((&card["server"]["name"], &card["tools"], is_full), (&"sqlite".into(), &6.into(), false));
    let broken = broken(&card);
    for name in [PUBLIC, FAILED, "tools that may write require an operation key"] {
        assert!(broken.contains(&name), "{name} in {broken:?}");
    }
    let (held, made) = row(&card, PUBLIC);
    assert!(held < made, "{held} of {made}");
    assert_eq!(row(&card, READABLE).0, 0);
    // What it does well counts as well.
    assert!(!broken.contains(&REFUSED), "{broken:?}");
}

#[test]
fn the_published_reference_server_has_no_envelopes_and_lives() {
    let command = Path::new(HERE).join("tests/published/node_modules/.bin/mcp-server-everything");
    let Some(command) = published(&command, "stdio") else { return };
    let (card, is_full) = score(&command, &[]);
    assert!(!is_full && card["tools"].as_u64().is_some_and(|tools| tools > 5), "{card}");
    let ((_, made), (readable, refusals)) = (row(&card, REFUSED), row(&card, READABLE));
    assert!(made > 0 && refusals > 0 && readable == 0, "{card}");
    assert!(!broken(&card).contains(&OUTLIVES), "{card}");
}
