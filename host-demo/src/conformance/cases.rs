//! From a tool's input schema to calls that it allows and calls that it forbids.

use serde_json::{Map, Number, Value, json};

/// The names under which tools take an operation key.
const KEYS: &[&str] = &["operation_key", "idempotency_key", "idempotencyKey", "operationKey", "request_id"];
/// Nothing longer than this is sent to go beyond a `maxLength`.
const LONGEST: u64 = 100_000;

/// A tool, as its server publishes it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Does it say that it only reads?
    pub reads: bool,
    properties: Map<String, Value>,
    required: Vec<String>,
    is_closed: bool,
}

/// A call that the schema forbids.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is wrong with it: the schema's keyword.
    pub rule: &'static str,
    /// The arguments.
    pub arguments: Value,
}

/// A call that the schema allows and that may fail in the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Provocation {
    /// Is it certain to fail?
    pub must_fail: bool,
    /// The arguments.
    pub arguments: Value,
}

impl Tool {
    /// Reads one of the tools of `tools/list`; `None` where it has no name.
    pub fn read(published: &Value) -> Option<Tool> {
        let schema = &published["inputSchema"];
        let required = schema["required"].as_array().into_iter().flatten();
        Some(Tool {
            name: published["name"].as_str()?.into(),
            reads: published["annotations"]["readOnlyHint"] == true,
            properties: schema["properties"].as_object().cloned().unwrap_or_default(),
            required: required.filter_map(Value::as_str).map(String::from).collect(),
            is_closed: schema["additionalProperties"] == false,
        })
    }

    /// The argument that is an operation key.
    pub fn key(&self) -> Option<&str> {
        self.properties.keys().map(String::as_str).find(|name| KEYS.contains(name))
    }

    /// Does the schema insist on an operation key?
    pub fn requires_key(&self) -> bool {
        self.key().is_some_and(|key| self.required.iter().any(|name| name == key))
    }

    /// Arguments that the schema allows: what is required, and the operation key. `number` tells calls apart.
    pub fn valid(&self, number: u32) -> Value {
        let is_wanted =
            |name: &str| self.required.iter().any(|required| required == name) || Some(name) == self.key();
        let wanted = self.properties.iter().filter(|(name, _)| is_wanted(name));
        let argument = |(name, rules): (&String, &Value)| match Some(name.as_str()) == self.key() {
            true => (name.clone(), json!(format!("kit-{}-{number}", std::process::id()))),
            false => (name.clone(), sample(name, rules)),
        };
        Value::Object(wanted.map(argument).collect())
    }

    /// The same call with another payload under the same key; `None` where there is nothing to change.
    pub fn other_payload(&self, call: &Value) -> Option<Value> {
        let mut other = call.clone();
        let changed = self.properties.iter().find_map(|(name, rules)| {
            let before = call.get(name).filter(|_| Some(name.as_str()) != self.key())?;
            let mut words = rules["enum"].as_array().into_iter().flatten();
            let next = match before {
                Value::Number(number) => Some(json!(number.as_i64()? + 1)),
                _ => words.find(|word| *word != before).cloned(),
            };
            Some((name.clone(), next?))
        });
        let (name, value) = changed?;
        other[name] = value;
        Some(other)
    }

    /// Calls that the schema allows, with a canary in a text that the tool takes. Of those with a statement it is known
    /// that they cannot succeed.
    pub fn provocations(&self, canary: &str) -> Vec<Provocation> {
        let texts = self.properties.iter().filter(|(name, rules)| {
            rules["type"] == "string" && rules.get("enum").is_none() && Some(name.as_str()) != self.key()
        });
        let provocation = |(name, rules): (&String, &Value)| {
            let must_fail = takes_statement(name, rules);
            let mut arguments = self.valid(0);
            arguments[name] = match must_fail {
                true => {
                    json!(format!("SELECT secret FROM vault_{canary} WHERE mail = '{canary}@mail.example'"))
                }
                false => json!(format!("../{canary}/'\"; {canary}@mail.example")),
            };
            Provocation { must_fail, arguments }
        };
        texts.map(provocation).collect()
    }

    /// Calls that the schema forbids, each for one reason, with the canary in what is wrong. Where the tool may write,
    /// everything in them is wrong, so that no server can take one for a call to carry out.
    pub fn forbidden(&self, may_be_called: bool, canary: &str) -> Vec<Case> {
        if !may_be_called {
            let nothing =
                (!self.required.is_empty()).then(|| Case { rule: "required", arguments: json!({}) });
            let wrong = self
                .properties
                .iter()
                .filter_map(|(name, rules)| Some((name.clone(), mistyped(rules, canary)?)));
            let wrong: Map<String, Value> = wrong.collect();
            let is_all = !wrong.is_empty() && self.required.iter().all(|name| wrong.contains_key(name));
            let wrong = is_all.then_some(Case { rule: "type", arguments: Value::Object(wrong) });
            return nothing.into_iter().chain(wrong).collect();
        }
        let valid = self.valid(0);
        let with = |name: &str, value: Value| {
            let mut arguments = valid.clone();
            arguments[name] = value;
            arguments
        };
        let mut cases: Vec<Case> = Vec::new();
        for name in &self.required {
            let mut arguments = valid.clone();
            arguments.as_object_mut().and_then(|arguments| arguments.remove(name));
            cases.push(Case { rule: "required", arguments });
        }
        for (name, rules) in &self.properties {
            let broken = [
                ("type", mistyped(rules, canary)),
                (
                    "enum",
                    rules["enum"]
                        .as_array()
                        .filter(|words| words.iter().any(Value::is_string))
                        .map(|_| json!(canary)),
                ),
                (
                    "minimum",
                    rules["minimum"].as_i64().and_then(|least| least.checked_sub(1)).map(Value::from),
                ),
                ("maximum", rules["maximum"].as_i64().and_then(|most| most.checked_add(1)).map(Value::from)),
                ("minLength", rules["minLength"].as_u64().filter(|least| *least > 0).map(|_| json!(""))),
                (
                    "maxLength",
                    rules["maxLength"].as_u64().filter(|most| *most < LONGEST).map(|most| {
                        let text = canary.repeat(most as usize / canary.len() + 1);
                        json!(text)
                    }),
                ),
            ];
            let broken = broken.into_iter().filter_map(|(rule, value)| Some((rule, value?)));
            cases.extend(broken.map(|(rule, value)| Case { rule, arguments: with(name, value) }));
        }
        if self.is_closed {
            cases.push(Case {
                rule: "additionalProperties",
                arguments: with(&format!("x_{canary}"), json!(canary)),
            });
        }
        cases
    }
}

/// Does the argument hold SQL? A `query` may be words to search for, too.
fn takes_statement(name: &str, rules: &Value) -> bool {
    let says_so = || rules["description"].as_str().is_some_and(|text| text.contains("SQL"));
    matches!(name, "sql" | "statement") || (name == "query" && says_so())
}

/// A value of another type than the argument's; `None` where the schema names no single type.
fn mistyped(rules: &Value, canary: &str) -> Option<Value> {
    Some(match rules["type"].as_str()? {
        "string" => json!({ "value": canary }),
        "integer" | "number" | "boolean" | "array" | "object" => json!(canary),
        _ => return None,
    })
}

/// A value that the argument's rules allow.
fn sample(name: &str, rules: &Value) -> Value {
    let first = |keyword: &str| rules[keyword].as_array().and_then(|values| values.first()).cloned();
    if let Some(value) = rules.get("default").cloned().or_else(|| first("enum")).or_else(|| first("examples"))
    {
        return value;
    }
    match rules["type"].as_str() {
        Some("integer" | "number") => {
            let least = rules["minimum"].as_i64().unwrap_or(1);
            Value::Number(Number::from(
                rules["maximum"].as_i64().map_or(least.max(1), |most| most.min(least.max(1))),
            ))
        }
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ if takes_statement(name, rules) => json!("SELECT 1"),
        _ => json!("a".repeat(rules["minLength"].as_u64().unwrap_or(1).clamp(1, LONGEST) as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        Tool::read(&json!({
            "name": "move",
            "inputSchema": {
                "type": "object", "additionalProperties": false, "required": ["operation_key", "limit"],
                "properties": {
                    "operation_key": { "type": "string", "minLength": 1, "maxLength": 8 },
                    "limit": { "type": "integer", "minimum": 3, "maximum": 9 },
                    "state": { "type": "string", "enum": ["open", "shut"] },
                },
            },
        }))
        .expect("it has a name")
    }

    #[test]
    fn every_rule_of_a_schema_is_broken_once() {
        let cases = tool().forbidden(true, "canary");
        let mut rules: Vec<&str> = cases.iter().map(|case| case.rule).collect();
        rules.sort_unstable();
        assert_eq!(
            rules,
            [
                "additionalProperties",
                "enum",
                "maxLength",
                "maximum",
                "minLength",
                "minimum",
                "required",
                "required",
                "type",
                "type",
                "type"
            ]
        );
        let limits: Vec<&Value> = cases.iter().filter_map(|case| case.arguments.get("limit")).collect();
        assert!(
            limits.contains(&&json!(2)) && limits.contains(&&json!(10)) && limits.contains(&&json!("canary"))
        );
    }

    #[test]
    fn a_tool_that_may_write_gets_nothing_that_it_could_carry_out() {
        let wrong = json!({
            "operation_key": { "value": "canary" }, "limit": "canary", "state": { "value": "canary" },
        });
        assert_eq!(
            tool().forbidden(false, "canary"),
            [Case { rule: "required", arguments: json!({}) }, Case { rule: "type", arguments: wrong }]
        );
        let all_optional = Tool::read(&json!({ "name": "drop_all", "inputSchema": { "type": "object" } }));
        assert_eq!(all_optional.expect("it has a name").forbidden(false, "canary"), []);
    }

    #[test]
    fn a_valid_call_keeps_to_the_schema_and_its_other_payload_to_the_key() {
        let valid = tool().valid(7);
        assert_eq!(valid["limit"], 3);
        let other = tool().other_payload(&valid).expect("the limit can be changed");
        assert_eq!((&other["limit"], &other["operation_key"]), (&json!(4), &valid["operation_key"]));
    }
}
