//! The score card: what was checked, how often it held, and the first time that it did not.

use std::io::{self, Write as _};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;
use serde_json::Value;

/// The longest text of a first failure, in characters.
const LONGEST: usize = 240;

/// The target's score.
#[derive(Debug, Serialize)]
pub struct Card {
    /// What the server says of itself.
    pub server: Value,
    /// Its tools, and how many of them may be called with arguments that their schemas allow.
    pub tools: usize,
    /// Of those, how many were called so.
    pub called: usize,
    /// Rows that hold, of those that were measured.
    pub held: usize,
    /// Rows that were measured.
    pub measured: usize,
    /// Every row.
    pub checks: Vec<Check>,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Which of the contract's eight failures it belongs to; 0 for what concerns all.
    pub failure: u8,
    /// What has to hold.
    pub name: &'static str,
    /// How often it was checked.
    pub made: u64,
    /// How often it held.
    pub held: u64,
    /// The first time that it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// Why it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
}

impl Check {
    /// A row that nothing has been checked for yet.
    pub fn new(failure: u8, name: &'static str) -> Check {
        Check { failure, name, made: 0, held: 0, first: None, skipped: None }
    }

    /// A row that cannot be checked here.
    pub fn skipped(failure: u8, name: &'static str, why: &'static str) -> Check {
        Check { skipped: Some(why), ..Check::new(failure, name) }
    }

    /// Counts one check.
    pub fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.made += 1;
        self.held += u64::from(holds);
        if !holds {
            self.first.get_or_insert_with(|| otherwise().chars().take(LONGEST).collect());
        }
    }

    fn is_measured(&self) -> bool {
        self.made > 0
    }

    fn is_full(&self) -> bool {
        self.made == self.held
    }
}

impl Card {
    /// Adds the rows up.
    pub fn new(server: Value, tools: usize, called: usize, checks: Vec<Check>) -> Card {
        let measured = checks.iter().filter(|check| check.is_measured());
        Card {
            server,
            tools,
            called,
            held: measured.clone().filter(|check| check.is_full()).count(),
            measured: measured.count(),
            checks,
        }
    }

    /// Does everything hold that was measured?
    pub fn is_full(&self) -> bool {
        self.measured > 0 && self.held == self.measured
    }

    /// Writes it for a person, or as JSON.
    pub fn show(&self, as_json: bool) -> io::Result<()> {
        let mut output = io::stdout().lock();
        if as_json {
            return writeln!(output, "{}", serde_json::to_string(self).map_err(io::Error::other)?);
        }
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["failure", "what has to hold", "held", "the first time it did not"]);
        for check in &self.checks {
            let failure = if check.failure == 0 { String::from("all") } else { check.failure.to_string() };
            let held = match check.skipped {
                Some(_) => String::from("–"),
                None => format!("{} of {}", check.held, check.made),
            };
            let remark = check.skipped.map(String::from).or_else(|| check.first.clone()).unwrap_or_default();
            table.add_row([failure, String::from(check.name), held, remark]);
        }
        let name = self.server["name"].as_str().unwrap_or("the server");
        let version = self.server["version"].as_str().unwrap_or_default();
        writeln!(output, "{table}")?;
        writeln!(
            output,
            "{name} {version}: {} of {} hold; {} of {} tools were called with allowed arguments",
            self.held, self.measured, self.called, self.tools
        )
    }
}
