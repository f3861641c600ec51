//! Which system speaks, where neither host nor driver nor shape tells it: the one whose table knows the words.

use alloc::vec::Vec;

use crate::intake::{Evidence, Place, Sign, SignKind};
use crate::systems::System;
use crate::tables::{self, Line};

/// Smallest number that names its engine: below it, every engine has its own meaning.
const FIRST_TELLING_NUMBER: i64 = 1000;

/// The system that knows a name, a SQLSTATE, a text, or a number among the evidence, in this order.
pub(super) fn system(evidence: &Evidence) -> Option<System> {
    let signs = || {
        let faults = evidence.faults.iter().rev();
        faults.flat_map(|fault| &fault.signs).filter(|sign| sign.place != Place::Inside)
    };
    let knowing = |knows: &dyn Fn(System) -> bool| {
        System::ALL.iter().copied().filter(|system| !is_any(*system)).find(|system| knows(*system))
    };
    let names = || signs().filter(|sign| is_name(sign));
    let cores = || evidence.faults.iter().flat_map(|fault| &fault.texts).flat_map(|text| text.cores());
    let numbers = || {
        let codes = signs().filter(|sign| sign.kind != SignKind::SqlState);
        codes.filter_map(|sign| sign.text.parse().ok()).filter(|at| *at >= FIRST_TELLING_NUMBER)
    };
    // MongrelDB's clients name their exceptions as every library does: `QueryException`, `ConflictException`.
    let is_own = |system: System, sign: &Sign| system != System::Mongreldb || sign.kind == SignKind::Code;
    let is_known =
        |system, sign: &Sign| is_own(system, sign) && tables::by_name(system, &sign.text).is_some();
    knowing(&|system| names().any(|sign| is_known(system, sign)))
        .or_else(|| {
            let lines: Vec<Line<'_>> = cores().map(|core| Line::from(core.words)).collect();
            knowing(&|system| lines.iter().any(|line| tables::by_text(system, None, *line).is_some()))
        })
        .or_else(|| {
            let with_number =
                || signs().any(|sign| sign.kind == SignKind::SqlState) && numbers().next().is_some();
            with_number().then_some(System::Mysql)
        })
        .or_else(|| {
            let is_known = |sign: &Sign| tables::by_name(System::Postgresql, &sign.text).is_some();
            signs().any(|sign| sign.is_sqlstate() && is_known(sign)).then_some(System::Postgresql)
        })
        .or_else(|| knowing(&|system| numbers().any(|number| tables::by_number(system, number).is_some())))
}

/// Does the name stand for any system?
fn is_any(system: System) -> bool {
    matches!(system, System::Unknown | System::OtherSql)
}

/// Names that many libraries give to errors of their own.
const ANYBODYS: &[&str] = &["ValidationError", "ValidationException", "ConnectionError", "PermissionError"];

/// A name that can belong to one system: no number or SQLSTATE, and longer than what runtimes call their own
/// (`IndexError`).
fn is_name(sign: &Sign) -> bool {
    const SHORTEST: usize = 9;
    let last = sign.text.rsplit(['.', ':', '\\', '/']).next().unwrap_or(&sign.text);
    let stem = last.strip_suffix("Error").or_else(|| last.strip_suffix("Exception")).unwrap_or(last);
    if sign.kind == SignKind::Class && (stem.len() < SHORTEST || ANYBODYS.contains(&last)) {
        return false;
    }
    let is_numeric = sign.text.bytes().all(|byte| byte.is_ascii_digit() || b"-x".contains(&byte));
    matches!(sign.kind, SignKind::Code | SignKind::Class) && !is_numeric && !sign.is_sqlstate()
}
