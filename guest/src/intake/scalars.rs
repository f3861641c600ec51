//! Single values of fields: words, counts, waits.

use crate::json::Json;

/// The longest text that can be one word's code.
const LONGEST_CODE: usize = 96;

/// Is a text a SQLSTATE with a digit?
pub(super) fn is_sqlstate(text: &str) -> bool {
    text.len() == 5
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Can a text be a code or a name: short, without blanks?
pub(super) fn is_word(text: &str) -> bool {
    let text = text.trim();
    (1..=LONGEST_CODE).contains(&text.len()) && !text.contains([' ', '\t', '\n', '"', '\'', '(', '{', ','])
}

/// A count that is not negative, as a number or in a string.
pub(super) fn count(value: &Json<'_>) -> Option<u32> {
    match value {
        Json::Whole(number) => u32::try_from(*number).ok(),
        Json::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A wait in milliseconds: a number of `unit` milliseconds, `"1.5s"`, `"200ms"`, or `{"seconds": 1, "nanos": 0}`.
pub(super) fn milliseconds(value: &Json<'_>, unit: u32) -> Option<u32> {
    let scaled = |number: f64, unit: u32| {
        let wait = number * f64::from(unit);
        (wait.is_finite() && wait >= 0.0 && wait <= f64::from(u32::MAX)).then_some(wait as u32)
    };
    match value {
        Json::Whole(number) => u32::try_from(*number).ok()?.checked_mul(unit),
        Json::Real(number) => scaled(*number, unit),
        Json::Text(text) => {
            let text = text.trim();
            let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
                (Some(number), _) => (number, 1),
                (_, Some(number)) => (number, 1000),
                _ => (text, unit),
            };
            scaled(number.trim().parse().ok()?, unit)
        }
        Json::Object(_) => count(value.get("seconds")?)?.checked_mul(1000),
        _ => None,
    }
}
