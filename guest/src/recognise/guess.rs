//! Which system speaks, where neither host nor driver nor shape tells it: the one whose table knows the words.

use crate::intake::{Evidence, Place, Sign, SignKind};
use crate::systems::System;
use crate::tables;

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
    let numbers =
        || signs().filter_map(|sign| sign.text.parse().ok()).filter(|at| *at >= FIRST_TELLING_NUMBER);
    // MongrelDB's clients name their exceptions as every library does: `QueryException`, `ConflictException`.
    let is_named = |system: System| system != System::Mongreldb;
    knowing(&|system| is_named(system) && names().any(|sign| tables::by_name(system, &sign.text).is_some()))
        .or_else(|| knowing(&|system| cores().any(|core| tables::by_text(system, None, core).is_some())))
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

/// A name, not a number or a SQLSTATE.
fn is_name(sign: &Sign) -> bool {
    let is_numeric = sign.text.bytes().all(|byte| byte.is_ascii_digit() || b"-x".contains(&byte));
    matches!(sign.kind, SignKind::Code | SignKind::Class) && !is_numeric && !sign.is_sqlstate()
}
