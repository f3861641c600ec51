//! Evidence → finding: one condition, what it proves, and the rule that said so.
//!
//! Every sign of every error in the chain is looked up in the tables; each hit is a [`Candidate`]. [`choose`]
//! takes the most telling one, and [`shape`] applies what the whole shape says: bulk writes, labels, the server's
//! own words, attempts hidden in the driver.

mod candidates;
mod choose;
mod finding;
mod guess;
mod shape;
mod violations;

pub use finding::{Finding, Marks};

use crate::codes::{Code, Proof};
use crate::intake::{Evidence, Place};
use crate::report::Report;
use crate::systems::System;
use crate::tables;
use candidates::{Candidate, Rank};

/// Finds what the evidence of a report says.
pub fn recognise(evidence: &Evidence, report: &Report<'_>) -> Finding {
    let system = evidence.system.unwrap_or(System::Unknown);
    if report.is_unreadable {
        return Finding::condition(Code::ToolFault, system);
    }
    let Some(error) = &report.error else {
        return match report.violations.is_empty() && report.operation.has_invalid_key {
            true => Finding::condition(Code::InvalidKey, system),
            false => violations::finding(&report.violations, system),
        };
    };
    if let [(field, value)] = error.members()
        && field == "condition"
        && let Some(code) = value.as_text().and_then(Code::parse)
    {
        return Finding::condition(code, system);
    }
    let system = match system {
        System::Unknown | System::OtherSql => guess::system(evidence).unwrap_or(system),
        known => known,
    };
    let chosen = choose::choose(candidates::all(evidence, system), evidence);
    let has_code = chosen.as_ref().is_some_and(|at| at.layer.is_none() && at.rank <= Rank::SqlState);
    let is_of_server = chosen.as_ref().is_some_and(|at| matches!(at.layer, None | Some(tables::Layer::Pool)));
    let mut finding = chosen.map_or_else(|| Finding::unrecognised(system), Candidate::finding);
    if !has_code {
        shape::place(&mut finding, evidence, report.operation.phase);
    }
    shape::apply(&mut finding, evidence, report, is_of_server);
    finding
}

impl Candidate {
    /// The finding of this candidate alone. What a text holds behind a quote proves nothing, nor do words without a
    /// code behind an unknown beginning; and nothing that would pass by waiting is believed of either.
    fn finding(self) -> Finding {
        let is_believed = self.place != Place::Inside && !self.is_hearsay();
        let mut finding = Finding {
            code: self.row.code,
            proof: self.row.proof,
            marks: self.row.marks,
            rule: self.row.rule,
            native: self.row.native,
            ..Finding::unrecognised(self.system)
        };
        if !is_believed {
            finding.proof = Proof::Nothing;
            if finding.code.is_transient() {
                finding.code = Code::DatabaseError;
            }
        }
        finding
    }
}
