//! Signs → candidates: every look-up that the tables answer, with how telling it is.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use crate::codes::{Code, Proof};
use crate::intake::{Evidence, Fault, Place, Sign, SignKind};
use crate::signs::holds;
use crate::systems::System;
use crate::tables::{self, Layer, Line, Row};

/// How telling a candidate is, the most telling first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Rank {
    /// A code and a text that tells apart what shares it.
    CodeAndText,
    /// A server's or driver's own code.
    Code,
    /// A SQLSTATE.
    SqlState,
    /// An exception class of the system's own drivers.
    Class,
    /// A fixed text of server, driver or pool, from its start.
    Text,
    /// A code or class of sockets, name resolution, TLS and runtimes.
    Transport,
    /// The class of a SQLSTATE.
    SqlStateClass,
    /// A code that stands for whatever has no code of its own.
    CatchAll,
    /// A class of an object mapper or a driver-independent interface.
    Mapper,
    /// A status of gRPC.
    Grpc,
    /// An HTTP status.
    Http,
}

/// One look-up that a table answered.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The table's row.
    pub row: Row,
    /// How telling it is.
    pub rank: Rank,
    /// The layer whose word it is; `None`: the database system's.
    pub layer: Option<Layer>,
    /// The error it was found in, by its index in the chain.
    pub fault: usize,
    /// How many errors enclose that one.
    pub depth: usize,
    /// Is that error one of several beside each other?
    pub is_one_of_many: bool,
    /// Where it was found: how far it can be trusted.
    pub place: Place,
    /// The system it speaks of.
    pub system: System,
}

impl Candidate {
    /// Is it words without a code behind an unknown beginning?
    pub fn is_hearsay(&self) -> bool {
        self.place == Place::Sought && self.rank == Rank::Text
    }
}

/// The candidates of all errors of the chain, outermost first.
pub(super) fn all(evidence: &Evidence, system: System) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (index, fault) in evidence.faults.iter().enumerate() {
        Search { fault, index, system, found: &mut found }.run(evidence.write_type.as_deref());
    }
    found
}

/// The search of one error's signs.
struct Search<'a> {
    fault: &'a Fault,
    index: usize,
    system: System,
    found: &'a mut Vec<Candidate>,
}

impl Search<'_> {
    /// Looks everything up. What tells apart errors that share a number is the SQLSTATE, or the type of the write.
    fn run(&mut self, write_type: Option<&str>) {
        let fault = self.fault;
        let state = fault.signs.iter().find_map(sqlstate).or(write_type);
        for sign in &fault.signs {
            match sign.kind {
                SignKind::Code | SignKind::SqlState => self.code(sign, state),
                SignKind::Class => self.class(sign),
                SignKind::Http => self.number(sign, Layer::Http, Rank::Http),
                SignKind::Grpc => self.grpc(sign),
            }
        }
        self.texts();
    }

    /// A code: in the system's table, as a SQLSTATE, in a layer's table, as an HTTP status.
    fn code(&mut self, sign: &Sign, state: Option<&str>) {
        if self.is_renamed(sign) {
            return;
        }
        let own = match number(&sign.text) {
            Some(number) if sign.kind == SignKind::Code => {
                tables::by_number_and_state(self.system, number, state).map(|row| (row, Rank::Code))
            }
            _ => None,
        };
        let own = own.or_else(|| {
            let rank = match sqlstate(sign) {
                Some(state) if state.ends_with("000") => Rank::SqlStateClass,
                Some(_) => Rank::SqlState,
                None => Rank::Code,
            };
            Some((self.named(&sign.text)?, rank))
        });
        if let Some((row, rank)) = own {
            let rank = if is_catch_all(&row) { Rank::CatchAll } else { rank };
            self.with_text(sign, row, rank);
            return;
        }
        if let Some(row) = sqlstate(sign).and_then(|state| tables::by_sqlstate_class(self.system, state)) {
            self.with_text(sign, row, Rank::SqlStateClass);
            return;
        }
        self.layers(sign);
        self.number(sign, Layer::Http, Rank::Http);
    }

    /// Is it what a driver's own list calls the server's number? MySQL's drivers have other names for MariaDB's.
    fn is_renamed(&self, sign: &Sign) -> bool {
        let is_known =
            |text: &str| number(text).is_some_and(|at| tables::by_number(self.system, at).is_some());
        matches!(self.system, System::Mysql | System::Mariadb | System::Vitess)
            && sign.text.starts_with("ER_")
            && self.fault.signs.iter().any(|other| other.kind == SignKind::Code && is_known(&other.text))
    }

    /// The system's row of a name, also where an SDK leaves the `Exception` at its end away.
    fn named(&self, name: &str) -> Option<Row> {
        tables::by_name(self.system, name).or_else(|| {
            let is_short =
                name.ends_with(|last: char| last.is_ascii_lowercase()) && !name.ends_with("Exception");
            is_short.then(|| tables::by_name(self.system, &format!("{name}Exception")))?
        })
    }

    /// A class: in the system's table, else in those of pools, mappers and transport.
    fn class(&mut self, sign: &Sign) {
        if sign.text == "SyntaxError" && !self.has_line_number() {
            // The runtime's own: a script or a reply that did not parse.
            return;
        }
        match self.named(&sign.text) {
            Some(row) => {
                let rank = if is_catch_all(&row) { Rank::CatchAll } else { Rank::Class };
                self.with_text(sign, row, rank);
            }
            None => self.layers(sign),
        }
    }

    /// Does a message point at a line of the statement, as PostgreSQL does for its syntax errors?
    fn has_line_number(&self) -> bool {
        self.fault.texts.iter().any(|text| holds(&text.whole, "\nLINE "))
    }

    /// A name in the tables of pools, mappers and transport.
    fn layers(&mut self, sign: &Sign) {
        const LAYERS: [(Layer, Rank); 3] =
            [(Layer::Pool, Rank::Text), (Layer::Transport, Rank::Transport), (Layer::Orm, Rank::Mapper)];
        for (layer, rank) in LAYERS {
            let call = self.fault.system_call.as_deref().and_then(phase_of_call);
            let at_call =
                call.and_then(|call| tables::layer(layer, format!("{}@{call}", sign.text).as_str()));
            let Some(row) = at_call.or_else(|| tables::layer(layer, sign.text.as_str())) else { continue };
            let key = key(&row).unwrap_or(&sign.text).to_owned();
            for core in self.fault.cores(sign.place) {
                if let Some((row, _)) = tables::by_text(layer, Some(&key), core.words) {
                    self.push(row, Rank::CodeAndText, Some(layer), sign.place);
                }
            }
            let is_prisma_like = rank == Rank::Mapper && sign.kind == SignKind::Code;
            self.push(row, if is_prisma_like { Rank::Code } else { rank }, Some(layer), sign.place);
            return;
        }
    }

    /// A status by its number.
    fn number(&mut self, sign: &Sign, layer: Layer, rank: Rank) {
        let status = number(&sign.text).filter(|status| layer != Layer::Http || (400..600).contains(status));
        if let Some(row) = status.and_then(|status| tables::layer(layer, status)) {
            self.push(row, rank, Some(layer), sign.place);
        }
    }

    /// A gRPC status by number or name.
    fn grpc(&mut self, sign: &Sign) {
        if let Some(row) = tables::by_name(self.system, &sign.text) {
            self.with_text(sign, row, Rank::Code);
        } else if let Some(row) = tables::layer(Layer::Grpc, sign.text.as_str()) {
            self.push(row, Rank::Grpc, Some(Layer::Grpc), sign.place);
        }
    }

    /// A row, and the rows of the texts that tell apart what shares its code.
    fn with_text(&mut self, sign: &Sign, row: Row, rank: Rank) {
        let key = key(&row).unwrap_or(&sign.text).to_owned();
        for core in self.fault.cores(sign.place) {
            if let Some((row, _)) = tables::by_text(self.system, Some(&key), core.words) {
                self.push(row, Rank::CodeAndText, None, sign.place);
                break;
            }
        }
        self.push(row, rank, None, sign.place);
    }

    /// The fixed texts of the system, of pools, mappers and transport.
    fn texts(&mut self) {
        const LAYERS: [Layer; 3] = [Layer::Pool, Layer::Orm, Layer::Transport];
        for core in self.fault.cores(Place::Inside) {
            let line = Line::from(core.words);
            if let Some((row, _)) = tables::by_text(self.system, None, line) {
                self.push(row, Rank::Text, None, core.place);
            }
            for layer in LAYERS {
                if let Some((row, _)) = tables::by_text(layer, None, line) {
                    self.push(row, Rank::Text, Some(layer), core.place);
                }
            }
        }
    }

    fn push(&mut self, row: Row, rank: Rank, layer: Option<Layer>, place: Place) {
        self.found.push(Candidate {
            row,
            rank,
            layer,
            fault: self.index,
            depth: self.fault.depth,
            is_one_of_many: self.fault.is_one_of_many,
            place,
            system: self.system,
        });
    }
}

/// Does the row stand for whatever has no code of its own?
fn is_catch_all(row: &Row) -> bool {
    row.code == Code::DatabaseError && matches!(row.proof, Proof::Nothing | Proof::Refused | Proof::Rejected)
}

/// The SQLSTATE that a sign is by its form.
fn sqlstate(sign: &Sign) -> Option<&str> {
    sign.is_sqlstate().then_some(sign.text.as_str())
}

/// The number that a code is: `1062`, `0x1100`, `ORA-00001`.
fn number(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    let digits = text.split_once('-').filter(|(name, _)| *name == "ORA").map_or(text, |(_, digits)| digits);
    digits.parse().ok()
}

/// The phase that a system call belongs to.
fn phase_of_call(call: &str) -> Option<&'static str> {
    match call {
        "connect" | "getaddrinfo" | "getaddrinfo ENOTFOUND" | "queryA" => Some("connect"),
        "read" | "write" | "writev" | "send" | "recv" => Some("in-flight"),
        _ => None,
    }
}

/// The code behind which a row's texts stand.
fn key(row: &Row) -> Option<&str> {
    row.native.as_ref().map(|native| native.as_str())
}
