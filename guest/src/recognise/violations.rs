//! The host's own argument check: its rule names are JSON Schema keywords.

use alloc::string::String;

use super::Finding;
use crate::codes::{Code, Proof};
use crate::report::Violation;
use crate::systems::System;

/// Keyword and code, sorted by keyword.
const RULES: &[(&str, Code)] = &[
    ("const", Code::UnsupportedValue),
    ("enum", Code::UnsupportedValue),
    ("exclusiveMaximum", Code::OutOfRange),
    ("exclusiveMinimum", Code::OutOfRange),
    ("format", Code::InvalidFormat),
    ("maxItems", Code::ValueTooLong),
    ("maxLength", Code::ValueTooLong),
    ("maximum", Code::OutOfRange),
    ("minimum", Code::OutOfRange),
    ("multipleOf", Code::OutOfRange),
    ("pattern", Code::InvalidFormat),
    ("required", Code::MissingArgument),
    ("type", Code::InvalidFormat),
];

/// The finding of an argument check: the rules' code where they agree, else `INVALID_ARGUMENT`. Without any
/// violation nothing was found.
pub(super) fn finding(violations: &[Violation], system: System) -> Finding {
    let mut codes = violations.iter().map(code);
    let Some(first) = codes.next() else { return Finding::unrecognised(system) };
    let code = if codes.all(|code| code == first) { first } else { Code::InvalidArgument };
    let rule = String::from("shape/violations");
    Finding { code, proof: Proof::NeverSent, rule, ..Finding::unrecognised(system) }
}

/// The code of one violation.
fn code(violation: &Violation) -> Code {
    let rule = violation.rule.as_ref().map_or("", |rule| rule.as_str());
    RULES.iter().find(|(keyword, _)| *keyword == rule).map_or(Code::InvalidArgument, |(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::report::Token;

    fn check(rules: &[&str]) -> (Code, Proof) {
        let violations: Vec<Violation> =
            rules.iter().map(|rule| Violation { argument: None, rule: Token::argument(rule) }).collect();
        let finding = finding(&violations, System::Unknown);
        (finding.code, finding.proof)
    }

    #[test]
    fn the_keyword_decides_the_code_and_mixed_keywords_are_an_invalid_argument() {
        assert_eq!(check(&["required"]), (Code::MissingArgument, Proof::NeverSent));
        assert_eq!(check(&["maximum", "exclusiveMinimum"]), (Code::OutOfRange, Proof::NeverSent));
        assert_eq!(check(&["required", "enum"]), (Code::InvalidArgument, Proof::NeverSent));
        assert_eq!(check(&["uniqueItems"]), (Code::InvalidArgument, Proof::NeverSent));
        assert_eq!(check(&[]), (Code::DatabaseError, Proof::Nothing));
    }
}
