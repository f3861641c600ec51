//! The walk through an error's JSON: fields by their role, causes by depth, texts by their forms.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::fields::{self, Role};
use super::hints::{Votes, Where};
use super::scalars::{count, is_code, is_sqlstate, is_word, milliseconds};
use super::{Evidence, Fault, Place, Sign, SignKind, dump, literal, texts};
use crate::codes::Proof;
use crate::json::Json;
use crate::signs::holds;
use crate::systems::System;
use crate::tables;

/// The deepest cause that is followed.
const DEEPEST: usize = 16;

/// The most errors that are kept.
const MOST_FAULTS: usize = 48;

/// The most items of one list that are looked into; all are counted.
pub(super) const MOST_ITEMS: usize = 16;

/// The most messages that are read.
const MOST_TEXTS: usize = 64;

/// The most constraints, and the most labels, that are kept.
const MOST_NAMES: usize = 16;

/// The most frames of a stack that are looked at.
const MOST_FRAMES: usize = 64;

/// The most signs that one error keeps.
const MOST_SIGNS: usize = 32;

/// What a fixed form weighs that tells its system.
const FORM_WEIGHT: u16 = 6;

/// The most texts with JSON inside that are read.
const MOST_NESTED_TEXTS: usize = 4;

/// The fields of PostgreSQL's ErrorResponse that every one has, under the protocol's letters, as pg8000 hands them over.
const LETTERS: [(&str, Role); 3] = [("S", Role::Severity), ("C", Role::SqlState), ("M", Role::Text)];

/// A walk and what it has found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) evidence: Evidence,
    votes: Votes,
    texts: usize,
    nested_texts: usize,
    /// Is the system to be told by the shape?
    is_guessing: bool,
    /// Is what is walked inside a text, behind a quote, where a row's value could have put it?
    pub(super) is_untrusted: bool,
    /// Is what is walked the whole of a field, and not a part of a text?
    is_alone: bool,
}

impl Walk {
    /// A walk that tells the system by the shape, or need not.
    pub fn new(is_guessing: bool) -> Walk {
        Walk { is_guessing, is_alone: true, ..Walk::default() }
    }

    /// Counts what a word tells of the system.
    fn vote(&mut self, place: Where, words: &str) {
        if self.is_guessing {
            self.votes.count(place, words);
        }
    }

    /// Keeps the name of a violated constraint.
    fn constraint(&mut self, name: Option<&str>) {
        let room = MOST_NAMES.saturating_sub(self.evidence.constraints.len());
        self.evidence.constraints.extend(name.map(ToOwned::to_owned).into_iter().take(room));
    }

    /// Walks an error.
    pub fn error(&mut self, error: &Json<'_>) {
        if let Some(fault) = self.fault(0, false) {
            self.value(error, fault);
            if !self.has_found() {
                self.unknown_members(error, fault);
            }
        }
    }

    /// The evidence, and the system that the shape tells.
    pub fn finish(self) -> (Evidence, Option<System>) {
        let shape = self.votes.winner();
        (self.evidence, shape)
    }

    /// A new error of the chain; `None` where there are enough or it lies too deep.
    pub(super) fn fault(&mut self, depth: usize, is_one_of_many: bool) -> Option<usize> {
        let faults = &mut self.evidence.faults;
        if faults.len() >= MOST_FAULTS || depth > DEEPEST {
            return None;
        }
        faults.push(Fault { depth, is_one_of_many, ..Fault::default() });
        Some(faults.len() - 1)
    }

    /// Has anything been found that says what went wrong?
    fn has_found(&self) -> bool {
        let has_sign = |fault: &Fault| !fault.signs.is_empty() || !fault.texts.is_empty();
        self.evidence.faults.iter().any(has_sign)
    }

    /// An error in whatever form.
    pub(super) fn value(&mut self, value: &Json<'_>, fault: usize) {
        match value {
            Json::Text(text) => {
                if is_code(text) {
                    self.sign(SignKind::Code, text.trim(), Place::Field, fault);
                }
                self.text(text, fault);
            }
            Json::Whole(_) => self.code(value, SignKind::Code, fault),
            Json::List(_) => self.arguments(value, fault),
            Json::Object(members) => {
                for (field, value) in members {
                    self.vote(Where::Field, field);
                    if let Some(role) = fields::role(field) {
                        self.member(role, value, fault);
                    }
                }
            }
            Json::Null | Json::Bool(_) | Json::Real(_) => {}
        }
    }

    /// Fields that no row names, below an error none of whose known fields says what went wrong.
    fn unknown_members(&mut self, error: &Json<'_>, fault: usize) {
        let unknown = || error.members().iter().filter(|(field, _)| fields::role(field).is_none());
        for (_, value) in unknown().filter(|(_, value)| !value.members().is_empty()).take(MOST_ITEMS) {
            self.value(value, fault);
        }
        if self.has_found() {
            return;
        }
        for text in unknown().filter_map(|(_, value)| value.as_text()).take(MOST_ITEMS) {
            self.text(text, fault);
        }
    }

    /// One field of an error.
    fn member(&mut self, role: Role, value: &Json<'_>, fault: usize) {
        if self.is_untrusted && role.is_proof() {
            return;
        }
        match role {
            Role::Code => self.code(value, SignKind::Code, fault),
            Role::SqlState => self.code(value, SignKind::SqlState, fault),
            Role::Class => self.code(value, SignKind::Class, fault),
            Role::HttpStatus => self.code(value, SignKind::Http, fault),
            Role::Status => self.status(value, fault),
            Role::CodeOrText => match value {
                Json::Text(text) if is_word(text) => self.code(value, SignKind::Code, fault),
                _ => self.part_or_cause(value, fault, true),
            },
            Role::Text => match value {
                Json::Text(text) => self.text(text, fault),
                _ => self.part_or_cause(value, fault, false),
            },
            Role::Block if value.as_text().is_some() => {}
            Role::Part | Role::Block => self.part_or_cause(value, fault, false),
            Role::Cause => self.part_or_cause(value, fault, true),
            Role::Content | Role::Detail | Role::Severity => {}
            Role::Address => value.as_text().into_iter().for_each(|url| self.vote(Where::Text, url)),
            Role::Stack => self.stack(value),
            Role::Constraint => self.constraint(value.as_text()),
            Role::Labels => self.labels(value),
            Role::Arguments => self.arguments(value, fault),
            Role::SystemCall => {
                if let Some(fault) = self.evidence.faults.get_mut(fault) {
                    fault.system_call = value.as_text().map(ToOwned::to_owned);
                }
            }
            Role::Retries => self.attempts(count(value).map(|retries| retries.saturating_add(1))),
            Role::Attempts => self.attempts(count(value)),
            Role::WaitMilliseconds => self.wait(milliseconds(value, 1)),
            Role::WaitSeconds => self.wait(milliseconds(value, 1000)),
            Role::OpIndex => self.evidence.op_index = count(value).or(self.evidence.op_index),
            Role::Committed => self.committed(value),
            Role::CommittedCount => self.evidence.own_words.yes |= count(value).is_some_and(|done| done > 0),
            Role::FinalState => {
                if let Json::Text(word) = value {
                    self.final_state(word);
                }
            }
            Role::BulkErrors => self.bulk_errors(value, fault),
            Role::Unprocessed => {
                if !value.members().is_empty() || !value.items().is_empty() {
                    self.evidence.bulk.is_bulk = true;
                    self.evidence.bulk.failed = self.evidence.bulk.failed.saturating_add(1);
                }
            }
            Role::BulkItems => self.bulk_items(value, fault),
            Role::CancellationReasons => self.cancellation_reasons(value, fault),
            Role::UpdateCounts => self.update_counts(value),
            Role::DoneCount => {
                if let Some(done) = count(value) {
                    let sum = self.evidence.bulk.done.unwrap_or(0).saturating_add(u64::from(done));
                    self.evidence.bulk.done = Some(sum);
                }
            }
            Role::WriteConcern => {
                self.evidence.has_write_concern_error |=
                    !value.members().is_empty() || !value.items().is_empty();
            }
            Role::WriteType => self.evidence.write_type = value.as_text().map(ToOwned::to_owned),
        }
    }

    /// A code or a name in a field of its own.
    fn code(&mut self, value: &Json<'_>, kind: SignKind, fault: usize) {
        match value {
            Json::Whole(number) => self.sign(kind, &number.to_string(), Place::Field, fault),
            Json::Text(text) if is_word(text) => self.sign(kind, text.trim(), Place::Field, fault),
            Json::Text(text) if kind != SignKind::Http => self.text(text, fault),
            Json::Object(_) if kind == SignKind::Code => self.part_or_cause(value, fault, false),
            _ => {}
        }
    }

    /// Keeps a sign.
    fn sign(&mut self, kind: SignKind, text: &str, place: Place, fault: usize) {
        // Smithy's `namespace#Shape`, and tokio-postgres' `E23505`.
        let text = text.rsplit('#').next().unwrap_or(text);
        let text = text.strip_prefix('E').filter(|state| is_sqlstate(state)).unwrap_or(text);
        let place = if self.is_untrusted { Place::Inside } else { place };
        if kind != SignKind::SqlState {
            self.vote(Where::Name, text);
        }
        if let Some(fault) = self.evidence.faults.get_mut(fault).filter(|at| at.signs.len() < MOST_SIGNS) {
            let sign = Sign { kind, text: String::from(text), place };
            if !fault.signs.contains(&sign) {
                fault.signs.push(sign);
            }
        }
    }

    /// An HTTP status, a gRPC status, or a word for the final state.
    fn status(&mut self, value: &Json<'_>, fault: usize) {
        match value {
            Json::Text(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.code(value, SignKind::Http, fault);
            }
            Json::Text(word) if is_word(word) => {
                self.final_state(word);
                if word.contains(|letter: char| letter.is_ascii_uppercase()) {
                    self.code(value, SignKind::Grpc, fault);
                }
            }
            Json::Whole(_) => self.code(value, SignKind::Http, fault),
            _ => self.part_or_cause(value, fault, false),
        }
    }

    /// The server's own word for the final state, as MongrelDB's table reads it.
    fn final_state(&mut self, word: &str) {
        let is_state =
            !self.is_untrusted && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let row = is_state.then(|| tables::by_name(System::Mongreldb, word)).flatten();
        let words = &mut self.evidence.own_words;
        match row.map(|row| row.proof) {
            Some(Proof::SaysCommitted) => words.yes = true,
            Some(Proof::SaysNotCommitted) => words.no = true,
            Some(Proof::SaysUnknown) => words.unknown = true,
            Some(Proof::Partial) => words.part = true,
            _ => {}
        }
    }

    /// The server's own word whether it committed: yes, no, or `null` for not known.
    fn committed(&mut self, value: &Json<'_>) {
        let is_trusted = self.is_alone;
        let words = &mut self.evidence.own_words;
        match value {
            Json::Bool(true) => words.yes = true,
            Json::Bool(false) => words.no |= is_trusted,
            _ => words.unknown = true,
        }
    }

    /// A part of the same error, or an error beneath it.
    fn part_or_cause(&mut self, value: &Json<'_>, fault: usize, is_cause: bool) {
        match value {
            Json::Text(text) if is_cause && is_code(text) => self.code(value, SignKind::Code, fault),
            Json::Text(text) => self.text(text, fault),
            Json::Object(_) => self.nested(value, fault, false),
            Json::List(items) => {
                for item in items.iter().take(MOST_ITEMS) {
                    self.nested(item, fault, items.len() > 1);
                }
            }
            _ => {}
        }
    }

    /// An object below an error: an error itself, or a map from something to errors.
    fn nested(&mut self, value: &Json<'_>, fault: usize, is_one_of_many: bool) {
        let depth = self.evidence.faults.get(fault).map_or(0, |fault| fault.depth);
        let members = value.members();
        if !members.is_empty() && !members.iter().any(|(field, _)| fields::role(field).is_some()) {
            let objects = members.iter().filter(|(_, value)| !value.members().is_empty());
            for (_, value) in objects.take(MOST_ITEMS) {
                if let Some(fault) = self.fault(depth + 1, true) {
                    self.value(value, fault);
                }
            }
            return;
        }
        if let Some(fault) = self.fault(depth + 1, is_one_of_many) {
            self.value(value, fault);
        }
    }

    /// A message: its forms, and the JSON inside it.
    fn text(&mut self, text: &str, fault: usize) {
        let Some((before, json)) = self.json_in(text) else {
            return self.plain(text, fault);
        };
        self.plain(before, fault);
        let trust = self.is_untrusted;
        self.is_untrusted |= !texts::introduces_json(before);
        let is_alone = self.is_alone;
        self.is_alone &= before.trim().is_empty();
        self.nested(&json, fault, false);
        self.is_untrusted = trust;
        self.is_alone = is_alone;
    }

    /// A message that holds no JSON.
    fn plain(&mut self, text: &str, fault: usize) {
        let text = text.trim();
        if text.is_empty() || text == "b" || self.texts >= MOST_TEXTS {
            return;
        }
        self.texts += 1;
        self.vote(Where::Text, text);
        let mut found = Vec::new();
        let mut retries = None;
        let votes = &mut self.votes;
        let mut read = texts::read(text, |form, place| {
            found.extend(form.signs.iter().map(|(kind, text)| (*kind, String::from(*text), place)));
            found.extend(form.hexadecimal.map(|code| (SignKind::Code, alloc::format!("0x{code}"), place)));
            retries = form.retries.or(retries);
            if let Some(system) = form.system {
                votes.add(system, FORM_WEIGHT);
            }
        });
        for (kind, text, place) in found {
            self.sign(kind, &text, place, fault);
        }
        self.attempts(retries.map(|retries| retries.saturating_add(1)));
        if self.is_untrusted {
            read.spans.clear();
        }
        self.constraint(read.cores().find_map(|core| texts::constraint(core.words)));
        let print = read.spans.iter().find_map(|span| dump::fields_in(read.whole.get(span.start..)?));
        if let Some(fields) = print {
            self.nested(&fields, fault, false);
        }
        if let Some(fault) = self.evidence.faults.get_mut(fault) {
            fault.texts.push(read);
        }
    }

    /// The JSON object in a text, with what stands before it.
    fn json_in<'t>(&mut self, text: &'t str) -> Option<(&'t str, Json<'t>)> {
        let (before, json) = literal::object_in(text).filter(|_| self.nested_texts < MOST_NESTED_TEXTS)?;
        self.nested_texts += 1;
        Some((before, json))
    }

    /// Labels: a list of words.
    fn labels(&mut self, value: &Json<'_>) {
        let labels = value.items().iter().filter_map(Json::as_text).filter(|label| is_word(label));
        let room = MOST_NAMES.saturating_sub(self.evidence.labels.len());
        self.evidence.labels.extend(labels.take(room).map(ToOwned::to_owned));
    }

    /// The positional arguments of an exception: codes are short and stand first, then comes the message.
    fn arguments(&mut self, value: &Json<'_>, fault: usize) {
        if let Json::Text(text) = value {
            return self.text(text, fault);
        }
        for item in value.items().iter().take(MOST_ITEMS) {
            match item {
                Json::Text(text) if is_word(text) => self.code(item, SignKind::Code, fault),
                Json::Object(_) if LETTERS.iter().all(|(letter, _)| item.get(letter).is_some()) => {
                    self.votes.add(System::Postgresql, FORM_WEIGHT);
                    for (letter, role) in LETTERS {
                        self.member(role, item.get(letter).unwrap_or(&Json::Null), fault);
                    }
                    self.constraint(item.get("n").and_then(Json::as_text));
                }
                Json::Object(_) => self.nested(item, fault, false),
                Json::List(_) => {}
                _ => self.value(item, fault),
            }
        }
    }

    /// What a stack tells of the phase: only frames of drivers and pools that do one thing.
    fn stack(&mut self, value: &Json<'_>) {
        /// A frame's words, and whether the driver was opening a connection (else giving one back).
        const FRAMES: &[(&str, bool)] = &[
            ("asyncpg/connect_utils.py", true),
            ("asyncpg\\connect_utils.py", true),
            ("in __connect_addr", true),
            ("org.postgresql.core.v3.ConnectionFactoryImpl", true),
            ("internalConnectMultiple", true),
            ("in release\n", false),
        ];
        let frames = value.items().iter().filter_map(Json::as_text).chain(value.as_text());
        for frame in frames.take(MOST_FRAMES) {
            for (_, is_connecting) in FRAMES.iter().filter(|(words, _)| holds(frame, words)) {
                self.evidence.is_connecting |= is_connecting;
                self.evidence.is_releasing |= !is_connecting;
            }
        }
    }

    /// How often the driver sent the request.
    fn attempts(&mut self, attempts: Option<u32>) {
        self.evidence.attempts = self.evidence.attempts.max(attempts);
    }

    /// The server's own wait.
    fn wait(&mut self, wait: Option<u32>) {
        self.evidence.retry_after_ms = self.evidence.retry_after_ms.max(wait);
    }
}
