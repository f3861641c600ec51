//! Single values of fields: words, counts, waits.

use alloc::format;

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

/// Can a text that stands alone be a code: a word unlike those of a sentence (`aborted`)?
pub(super) fn is_code(text: &str) -> bool {
    is_word(text)
        && text
            .contains(|letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
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
            scaled(decimal(number.trim())?, unit)
        }
        Json::Object(_) => count(value.get("seconds")?)?.checked_mul(1000),
        _ => None,
    }
}

/// A decimal number, also with a plus sign, leading zeros, or nothing on one side of its point. It is JSON's reader that
/// reads it: the standard library's would bring tables of its own.
fn decimal(text: &str) -> Option<f64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !is_number(whole) || !is_number(part) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    match Json::read(&format!("{sign}{whole}.{part}0e{exponent}")) {
        Ok(Json::Real(number)) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them() {
        for text in [
            "1",
            "0",
            "007.50",
            "+1.5",
            "-2",
            "-0",
            ".5",
            "5.",
            "1e3",
            "1.e-2",
            "1E+05",
            "0.1",
            "1.001",
            "123456789.987654321",
            "1e400",
            "",
            ".",
            "+",
            "-",
            "e5",
            "1e",
            "1.2.3",
            "+-1",
            "1_000",
            "0x10",
            "inf",
            "NaN",
            " 1",
        ] {
            let expected = text.parse().ok().filter(|number: &f64| number.is_finite());
            assert_eq!(decimal(text), expected, "{text}");
        }
    }
}
