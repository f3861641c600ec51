//! The drill on servers that the user has: what it leaves there, what it leaves out, and how it refuses.

mod servers;

use std::process::{Command, Output};

use serde_json::{Value, json};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, query_scalar};

/// A password that has to be percent-encoded in a URL.
const PASSWORD: &str = "canary/#1@home";
const ENCODED: &str = "canary%2F%231%40home";

fn drill(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retort"));
    command.args(["drill", "--database", url, "--json"]).args(arguments);
    command.output().expect("the command starts")
}

/// What the drill says on standard error, which holds no password.
fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains(PASSWORD) && !said.contains(ENCODED), "{said}");
    said
}

/// Drills with few writes: everything holds, and the notice says what is made where.
fn holds(url: &str, database: &str, notice: &str) {
    let parts = ["failures", "ledger", "deadlock", "lock", "kill", "connections", "readonly", "full"];
    let mut arguments = vec!["--writes", "120"];
    parts.iter().for_each(|part| arguments.extend(["--only", *part]));
    let output = drill(url, &arguments);
    let said = said(&output);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    let names = said.split("schemas ").nth(1).and_then(|rest| rest.split("0,").next()).unwrap_or_default();
    assert_eq!(said.replace(names, "NAMES_"), format!("{notice}\n"));
    let figures: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let totals = &figures["totals"];
    let wrong = json!([figures["failed_checks"], totals["applied_twice"], totals["false_claims"]]);
    assert_eq!(wrong, json!([0, 0, 0]), "{figures}");
    let of_database = &figures["databases"][0];
    assert_eq!(of_database["database"], database);
    let failures = of_database["failures"].as_array().expect("failures");
    let rows: Vec<Value> =
        failures.iter().map(|row| json!([row["name"], row["wrong"], row["skipped"]])).collect();
    let own = |what: &str| format!("it {what}, so it takes a server of the drill's own");
    let expected = vec![
        json!(["invalid arguments", 0, null]),
        json!(["authorization removed", 0, null]),
        json!(["pool, statement and client timeouts", 0, null]),
        json!(["cancel before, during and after", 0, null]),
        json!(["a broken view and a changed column", 0, null]),
        json!(["connection dropped around a commit", 0, null]),
        json!(["no statement or value in public errors", 0, null]),
        json!(["every trace id resolves", 0, null]),
        json!(["server killed during COMMIT", 0, own("kills the server's processes")]),
        json!(["too many connections", 0, own("takes every connection of the server from those who use it")]),
        json!(["server turned read-only", 0, own("makes the whole server read-only")]),
        json!(["deadlock", 0, null]),
        json!(["lock timeout", 0, null]),
        json!(["disk full", 0, own("fills a disk of the server's")]),
        json!(["the ledger's own power", 0, null]),
    ];
    assert_eq!(rows, expected);
}

/// The drill ends with 2, and says just this.
fn refuses(url: &str, expected: &str) {
    let output = drill(url, &["--only", "ledger"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said(&output), format!("retort: {expected}\n"), "{url}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_is_given_is_left_as_it_was() {
    let port = servers::free_port();
    let Some(server) = servers::postgres_on(port) else { return };
    let socket = server.folder().to_str().expect("the path is text");
    let administrator = PgConnectOptions::new_without_pgpass().socket(socket).port(port).username("postgres");
    let mut administrator = administrator.database("postgres").connect().await.expect("the server answers");
    let run = format!("CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'");
    administrator.execute(AssertSqlSafe(run)).await.expect("the role is made");
    administrator.execute("CREATE DATABASE shop").await.expect("the database is made");

    let url =
        |password: &str, database: &str| format!("postgres://app:{password}@127.0.0.1:{port}/{database}");
    let at = format!("cannot drill app@127.0.0.1:{port}: ");
    refuses(
        &url(ENCODED, "shop"),
        &format!(
            "{at}permission denied for database shop; an administrator may run: \
             GRANT CREATE ON DATABASE shop TO app (NOT_AUTHORIZED)"
        ),
    );
    refuses(
        &url("wrong", "shop"),
        &format!(
            "{at}password authentication failed for user \"app\"; check user and password (percent-encoded in a \
             URL), and whether the server lets this user in from here without TLS (CREDENTIALS_REJECTED)"
        ),
    );
    refuses(
        &url(ENCODED, "nowhere"),
        &format!(
            "{at}database \"nowhere\" does not exist; is there such a database? The URL ends with its name \
             (CONFIGURATION)"
        ),
    );

    administrator.execute("GRANT CREATE ON DATABASE shop TO app").await.expect("the right is given");
    let before = objects_of_postgresql(socket, port).await;
    holds(
        &url(ENCODED, "shop"),
        "PostgreSQL",
        &format!(
            "PostgreSQL at 127.0.0.1:{port}: as app, without TLS, the drill makes schemas NAMES_0, NAMES_1 and so on \
             in shop, works in them alone, and drops them at the end"
        ),
    );
    assert_eq!(objects_of_postgresql(socket, port).await, before);
}

/// The schemas of `shop`, and the server's roles.
async fn objects_of_postgresql(socket: &str, port: u16) -> Vec<String> {
    let options = PgConnectOptions::new_without_pgpass().socket(socket).port(port).username("postgres");
    let mut connection = options.database("shop").connect().await.expect("the server answers");
    let objects =
        "SELECT nspname::text FROM pg_namespace UNION ALL SELECT rolname::text FROM pg_roles ORDER BY 1";
    query_scalar(objects).fetch_all(&mut connection).await.expect("the catalogue can be read")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mariadb_that_is_given_is_left_as_it_was() {
    let port = servers::free_port();
    let Some(server) = servers::mariadb_on(port) else { return };
    let socket = servers::mariadb_socket(server.folder());
    let administrator = MySqlConnectOptions::new().socket(&socket).username("root").database("mysql");
    let mut administrator = administrator.connect().await.expect("the server answers");
    let run = format!("CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'");
    administrator.execute(AssertSqlSafe(run)).await.expect("the user is made");

    let url = |password: &str| format!("mysql://app:{password}@127.0.0.1:{port}");
    let at = format!("cannot drill app@127.0.0.1:{port}: ");
    let grant = r"GRANT ALL PRIVILEGES ON `retort\_drill\_%`.* TO 'app'@'127.0.0.1'";
    let refused = drill(&url(ENCODED), &["--only", "ledger"]);
    let said = said(&refused);
    assert!(said.starts_with(&format!("retort: {at}Access denied for user 'app'@'127.0.0.1'")), "{said}");
    assert!(said.ends_with(&format!("; an administrator may run: {grant} (NOT_AUTHORIZED)\n")), "{said}");
    refuses(
        &url("wrong"),
        &format!(
            "{at}Access denied for user 'app'@'127.0.0.1' (using password: YES); check user and password \
             (percent-encoded in a URL), and whether the server lets this user in from here without TLS \
             (CREDENTIALS_REJECTED)"
        ),
    );

    administrator.execute(grant).await.expect("the right is given");
    let names = "SELECT schema_name FROM information_schema.schemata ORDER BY 1";
    let before: Vec<String> =
        query_scalar(names).fetch_all(&mut administrator).await.expect("it can be read");
    holds(
        &url(ENCODED),
        "MariaDB",
        &format!(
            "MariaDB at 127.0.0.1:{port}: as app, without TLS, the drill makes schemas NAMES_0, NAMES_1 and so on, \
             works in them alone, and drops them at the end"
        ),
    );
    let after: Vec<String> = query_scalar(names).fetch_all(&mut administrator).await.expect("it can be read");
    assert_eq!(after, before);
}

#[test]
fn a_url_that_leads_nowhere_says_what_to_do() {
    let takes = "--database takes sqlite, postgres, mariadb, mongreldb, or the URL of a server that you have: \
                 postgres://USER:PASSWORD@HOST:PORT/DATABASE or mysql://USER:PASSWORD@HOST:PORT";
    refuses(&format!("oracle://app:{ENCODED}@127.0.0.1/shop"), takes);
    refuses("postgress", takes);
    refuses(
        "postgres:///shop",
        "--database: the URL names no host; a proxy stands before it, so it takes HOST:PORT and no socket file",
    );
    refuses(
        &format!("postgres://app:{PASSWORD}@127.0.0.1/shop"),
        "--database: the URL cannot be read (invalid port number); write / ? # @ : % percent-encoded in user and \
         password",
    );
    refuses(
        &format!("mysql://app:{ENCODED}@127.0.0.1/?ssl-mode=REQUIRED"),
        "--database: the drill cuts connections at chosen messages, which it can find only without TLS; leave \
         ssl-mode=REQUIRED out, and use a server that lets sessions without TLS in",
    );
    refuses(
        "postgres://app@127.0.0.1/shop?host=elsewhere",
        "--database: the drill does not use the parameter host; leave it out of the URL",
    );
    let port = servers::free_port();
    refuses(
        &format!("postgres://app:{ENCODED}@127.0.0.1:{port}/shop"),
        &format!(
            "cannot drill app@127.0.0.1:{port}: Connection refused (os error 111); is the server running, and does \
             it listen on TCP at that address? (CONNECTION_FAILED)"
        ),
    );
}
