//! Raw facts and curated rules → the tables' text form.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::rules::{self, Confirmed, Decision, Fact, Rule};
use super::{Key, Keys, Row, SPECS, Spec, lines, order, spelling, write};

/// Rebuilds every table in `folder` from the raw facts and the rules beside the tables.
pub fn import(facts: &Path, folder: &Path) -> Result<()> {
    let rules_folder = folder.join("rules");
    let common = rules::read(&rules_folder.join("common.tsv"))?;
    let confirmed = rules::read_confirmed(&rules_folder.join("confirmed.tsv"))?;
    for spec in SPECS {
        let own = rules::read(&rules_folder.join(format!("{}.tsv", spec.id)))?;
        let facts = read_facts(&facts.join(format!("{}.tsv", spec.id)))?;
        let rows =
            build(spec, &facts, &own, &common, &confirmed).with_context(|| format!("table {}", spec.id))?;
        write(folder, spec, &rows)?;
    }
    Ok(())
}

/// Reads raw facts; a missing file has none.
fn read_facts(path: &Path) -> Result<Vec<Fact>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path)?;
    lines(&text)
        .map(|(number, columns)| {
            let [code, name, category, outcome, transient, source, ..] = columns[..] else {
                bail!("{}:{number}: too few columns", path.display());
            };
            let category = format!("{category}/{outcome}/{transient}");
            Ok(Fact {
                code: code.to_owned(),
                name: name.to_owned(),
                category,
                source: source.trim().to_owned(),
            })
        })
        .collect()
}

/// Applies the rules to the facts of one table. The first row of a key wins.
fn build(
    spec: &Spec,
    facts: &[Fact],
    own: &[Rule],
    common: &[Rule],
    confirmed: &Confirmed,
) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut decided = BTreeSet::new();
    for mut fact in facts.iter().flat_map(|fact| renamed(fact, own)) {
        if let Some(source) = confirmed.get(&(spec.id.to_owned(), fact.code.clone())) {
            fact.source.clone_from(source);
        }
        if let Some(row) = decide(&fact, own, common)?
            && decided.insert(fact.code.clone())
        {
            rows.push(row);
        }
    }
    // A rule without a source only reads a fact; related tables share such rules, so the fact may be absent.
    let additions =
        own.iter().filter(|rule| rule.is_exact() && rule.rename.is_none() && !rule.source.is_empty());
    for rule in additions.filter(|rule| matches!(rule.decision, Decision::Read(..))) {
        let rules::Pattern::Code(code) = &rule.pattern else { continue };
        for code in codes(spec.keys, code) {
            let fact = Fact { code, name: String::new(), category: String::new(), source: String::new() };
            if decided.insert(fact.code.clone()) {
                rows.push(row(&fact, rule)?);
            }
        }
    }
    rows.sort_by(|left, right| order(spec.keys, left, right));
    Ok(rows)
}

/// The code, or every number of a range (`50001..50999`, `ORA-20001..ORA-20999`).
fn codes(keys: Keys, code: &str) -> Vec<String> {
    let ends = code.split_once("..").map(|(first, last)| (Key::parse(keys, first), Key::parse(keys, last)));
    let (prefix, digits) = spelling(keys);
    match ends {
        Some((Key::Number(first), Key::Number(last))) => {
            (first..=last).map(|number| format!("{prefix}{number:0digits$}")).collect()
        }
        _ => vec![code.to_owned()],
    }
}

/// The fact under the key or keys (`KEY & KEY`) that its table stores it under.
fn renamed(fact: &Fact, own: &[Rule]) -> Vec<Fact> {
    let found = own.iter().find_map(|rule| Some((rule.rename.as_ref()?, rule.capture(fact)?)));
    match found {
        Some((keys, held)) => {
            keys.split(" & ").map(|key| Fact { code: key.replacen('*', held, 1), ..fact.clone() }).collect()
        }
        None => vec![fact.clone()],
    }
}

/// The row of a fact, `None` where it is dropped: exact rules first, then the table's own in order, then the common.
fn decide(fact: &Fact, own: &[Rule], common: &[Rule]) -> Result<Option<Row>> {
    let is_open = |rule: &&Rule| rule.rename.is_none() && rule.decision != Decision::Pass;
    let exact = own.iter().filter(|rule| rule.is_exact());
    let ordered = own.iter().filter(|rule| !rule.is_exact()).chain(common);
    let rule = exact
        .chain(ordered)
        .filter(is_open)
        .find(|rule| rule.capture(fact).is_some())
        .with_context(|| format!("no rule for {:?}", fact.code))?;
    if rule.decision == Decision::Drop { Ok(None) } else { row(fact, rule).map(Some) }
}

/// The row that a rule makes of a fact.
fn row(fact: &Fact, rule: &Rule) -> Result<Row> {
    let mut reading = rule.reading().context("the rule reads nothing")?;
    let pick = |own: &str, other: &str| if own.is_empty() { other.to_owned() } else { own.to_owned() };
    let source = pick(&rule.source, &fact.source);
    if source.is_empty() {
        bail!("{:?} has no source", fact.code);
    }
    reading.marks.recalled |= rule.source.is_empty() && fact.source.contains("recalled");
    Ok(Row { code: fact.code.clone(), reading, name: pick(&rule.name, &fact.name), source })
}
