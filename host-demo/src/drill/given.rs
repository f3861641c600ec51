//! A server that the user has: what its URL must say, what the drill has to be allowed there, and what to do where it
//! cannot be drilled. A password is never part of what is said.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::admin::Admin;
use super::{Error, Target};
use crate::{Contract, adapters};

/// How long the server may take to let a session in.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a server cannot be drilled, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Neither a name nor a URL of a kind that is known.
    #[error(
        "--database takes sqlite, postgres, mariadb, mongreldb, or the URL of a server that you have: \
         postgres://USER:PASSWORD@HOST:PORT/DATABASE or mysql://USER:PASSWORD@HOST:PORT"
    )]
    Unknown,
    /// No URL at all.
    #[error(
        "--database: the URL cannot be read ({0}); write / ? # @ : % percent-encoded in user and password"
    )]
    Unreadable(String),
    /// There is nothing that a proxy could stand before.
    #[error(
        "--database: the URL names no host; a proxy stands before it, so it takes HOST:PORT and no socket file"
    )]
    NoHost,
    /// Through TLS, nobody sees where a message ends.
    #[error(
        "--database: the drill cuts connections at chosen messages, which it can find only without TLS; leave \
         {0} out, and use a server that lets sessions without TLS in"
    )]
    Tls(String),
    /// What else a URL may say would lead past the proxy, or change what is drilled.
    #[error("--database: the drill does not use the parameter {0}; leave it out of the URL")]
    Parameter(String),
    /// What the server, or the way to it, says.
    #[error("cannot drill {user}@{address}: {message}; {advice} ({code})")]
    Server {
        /// Whom the drill wanted to be.
        user: String,
        /// Where.
        address: String,
        /// The driver's or the server's message.
        message: String,
        /// What to do.
        advice: String,
        /// The public code that the contract makes of it.
        code: String,
    },
}

/// What to do about a public code.
const ADVICE: &[(&str, &str)] = &[
    ("CONFIGURATION", "is there such a database? The URL ends with its name"),
    ("CONNECTION_FAILED", "is the server running, and does it listen on TCP at that address?"),
    (
        "CREDENTIALS_REJECTED",
        "check user and password (percent-encoded in a URL), and whether the server lets this user in from here \
         without TLS",
    ),
    ("NOT_AUTHORIZED", "an administrator may run: "),
    ("NOT_PRIMARY", "name the primary: the drill writes"),
    ("READ_ONLY", "name a primary that can be written to: the drill writes"),
    ("TOO_MANY_CONNECTIONS", "the drill needs some forty sessions at once"),
];

/// The parameter of a URL that changes nothing of what is drilled: poolers before a server may need it.
const KEPT: &str = "statement-cache-capacity";

/// Reads the URL of a server, and gives it as the drill uses it: with a port, and without TLS.
pub fn read(text: &str) -> Result<(Target, Url), Refused> {
    let (target, port) = match text.split_once("://") {
        Some(("postgres" | "postgresql", _)) => (Target::Postgres, 5432),
        Some(("mysql" | "mariadb", _)) => (Target::Mysql, 3306),
        _ => return Err(Refused::Unknown),
    };
    // sqlx knows the scheme mysql only.
    let text = text.replacen("mariadb:", "mysql:", 1);
    let mut url = Url::parse(&text).map_err(|error| Refused::Unreadable(error.to_string()))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(Refused::NoHost);
    }
    let _ = url.set_port(url.port().or(Some(port)));
    let mut kept = None;
    for (name, value) in url.query_pairs() {
        match (&*name, value.to_ascii_lowercase().as_str()) {
            ("sslmode" | "ssl-mode", "disable" | "disabled" | "allow" | "prefer" | "preferred") => (),
            ("sslmode" | "ssl-mode", _) => return Err(Refused::Tls(format!("{name}={value}"))),
            (KEPT, _) => kept = Some(value.into_owned()),
            _ => return Err(Refused::Parameter(name.into_owned())),
        }
    }
    let off = if target == Target::Postgres { "disable" } else { "disabled" };
    let mut pairs = url.query_pairs_mut();
    pairs.clear().append_pair("ssl-mode", off);
    if let Some(value) = kept {
        pairs.append_pair(KEPT, &value);
    }
    drop(pairs);
    Ok((target, url))
}

/// Host and port of such a URL.
pub fn address(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or_default())
}

/// The first session on it.
pub async fn open(contract: &Arc<dyn Contract>, target: Target, url: &Url) -> Result<Admin, Refused> {
    let late = |_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()));
    let opened = timeout(PATIENCE, Admin::open(target, url)).await.unwrap_or_else(late);
    opened.map_err(|error| refusal(contract, target, url, &error, "connect", ""))
}

/// Does in a schema of this name once what the drill does: it must be allowed to.
pub async fn try_out(
    contract: &Arc<dyn Contract>,
    target: Target,
    url: &Url,
    admin: &mut Admin,
    schema: &str,
) -> Result<(), Error> {
    let grant = admin.text(grant(target)).await?;
    for statement in [
        "CREATE SCHEMA {}",
        "CREATE TABLE {}.tried (id BIGINT PRIMARY KEY)",
        "CREATE VIEW {}.seen AS SELECT id FROM {}.tried",
        "INSERT INTO {}.tried VALUES (1)",
        "UPDATE {}.tried SET id = 2",
        "SELECT id FROM {}.seen",
        "DELETE FROM {}.tried",
        "DROP VIEW {}.seen",
        "DROP TABLE {}.tried",
    ] {
        match admin.execute(&statement.replace("{}", schema)).await {
            Err(Error::Sqlx(error)) => {
                return Err(refusal(contract, target, url, &error, "execute", &grant).into());
            }
            done => done?,
        }
    }
    Ok(())
}

/// Asks the server for the statement that would give this user what the drill needs.
fn grant(target: Target) -> &'static str {
    match target {
        Target::Mariadb | Target::Mysql => {
            r"SELECT concat('GRANT ALL PRIVILEGES ON `retort\_drill\_%`.* TO ',
              quote(substring_index(current_user(), '@', 1)), '@', quote(substring_index(current_user(), '@', -1)))"
        }
        _ => "SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)",
    }
}

/// What the contract makes of a driver's error, and what to do about it.
fn refusal(
    contract: &Arc<dyn Contract>,
    target: Target,
    url: &Url,
    error: &sqlx::Error,
    phase: &str,
    grant: &str,
) -> Refused {
    let report = json!({
        "error": adapters::sqlx(error),
        "system": target.system(),
        "operation": { "effect": "write", "phase": phase, "transaction": "none" },
        "context": { "authorized": true },
    });
    let verdict: Value = serde_json::from_str(&contract.evaluate(&report.to_string())).unwrap_or_default();
    let code = verdict["envelope"]["code"].as_str().unwrap_or_default().to_owned();
    let advice =
        ADVICE.iter().find(|(known, _)| *known == code).map_or("see the server's log", |(_, advice)| advice);
    let advice = if code == "NOT_AUTHORIZED" { format!("{advice}{grant}") } else { advice.to_owned() };
    let message = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    Refused::Server { user: url.username().to_owned(), address: address(url), message, advice, code }
}
