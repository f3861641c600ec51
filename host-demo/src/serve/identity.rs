//! Who asks. It comes from the session (the process that started a stdio server) or from a bearer token, never from a
//! tool's arguments.

use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use clap::ValueEnum;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a caller may do.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read only.
    Reader,
    /// Read and write.
    Writer,
    /// Nothing: known, yet not allowed.
    Suspended,
}

/// A caller, as the host knows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Identity {
    /// The person or program: operation keys belong to it.
    pub principal: String,
    /// Whose rows it sees.
    pub tenant: String,
    /// What it may do.
    pub role: Role,
    /// The version of the rules that said so.
    #[serde(default = "first_policy")]
    pub policy_version: String,
}

fn first_policy() -> String {
    String::from("1")
}

/// The bearer tokens that are let in, by their hash.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<([u8; 32], Identity)>);

impl Tokens {
    /// One token for one caller.
    pub fn one(token: &str, identity: Identity) -> Tokens {
        Tokens(vec![(hash(token), identity)])
    }

    /// A file with a JSON object of tokens: `{"TOKEN": {"principal", "tenant", "role", "policy_version"?}}`.
    pub fn read(path: &Path) -> io::Result<Tokens> {
        let tokens: HashMap<String, Identity> = serde_json::from_str(&fs::read_to_string(path)?)?;
        Ok(Tokens(tokens.into_iter().map(|(token, identity)| (hash(&token), identity)).collect()))
    }

    /// The caller behind an `Authorization` header. Every token is compared, each in constant time.
    pub fn identify(&self, authorization: Option<&str>) -> Option<Identity> {
        let presented = presented(authorization)?;
        let matching = |known: &[u8; 32]| bool::from(known.ct_eq(&presented));
        let found = self
            .0
            .iter()
            .fold(None, |found, (known, identity)| if matching(known) { Some(identity) } else { found });
        found.cloned()
    }
}

/// The token of whoever operates the server, by its hash. It opens metrics and diagnostics, and no tool.
#[derive(Clone, Debug)]
pub struct Operator([u8; 32]);

impl Operator {
    /// The operator with this token.
    pub fn new(token: &str) -> Operator {
        Operator(hash(token))
    }

    /// Does an `Authorization` header hold the token? Compared in constant time.
    pub fn is(&self, authorization: Option<&str>) -> bool {
        presented(authorization).is_some_and(|presented| self.0.ct_eq(&presented).into())
    }
}

/// The hash of a header's bearer token.
fn presented(authorization: Option<&str>) -> Option<[u8; 32]> {
    let (scheme, token) = authorization?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| hash(token.trim()))
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
