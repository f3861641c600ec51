//! Raw facts and curated rules → the tables' text form.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::rules::{self, Decision, Fact, Rule};
use super::{Row, SPECS, Spec, lines, order, write};

/// Rebuilds every table in `folder` from the raw facts and the rules beside the tables.
pub fn import(facts: &Path, folder: &Path) -> Result<()> {
    let rules_folder = folder.join("rules");
    let common = rules::read(&rules_folder.join("common.tsv"))?;
    for spec in SPECS {
        let own = rules::read(&rules_folder.join(format!("{}.tsv", spec.id)))?;
        let facts = read_facts(&facts.join(format!("{}.tsv", spec.id)))?;
        let rows = build(spec, &facts, &own, &common).with_context(|| format!("table {}", spec.id))?;
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
fn build(spec: &Spec, facts: &[Fact], own: &[Rule], common: &[Rule]) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut decided = BTreeSet::new();
    for fact in facts.iter().flat_map(|fact| renamed(fact, own)) {
        if let Some(row) = decide(&fact, own, common)?
            && decided.insert(fact.code.clone())
        {
            rows.push(row);
        }
    }
    for rule in own.iter().filter(|rule| rule.is_exact() && rule.rename.is_none()) {
        let fact = Fact {
            code: match &rule.pattern {
                rules::Pattern::Code(code) => code.clone(),
                _ => continue,
            },
            name: String::new(),
            category: String::new(),
            source: String::new(),
        };
        // A rule without a source only reads a fact; related tables share such rules, so the fact may be absent.
        let is_addition = !rule.source.is_empty() && matches!(rule.decision, Decision::Read(..));
        if is_addition && decided.insert(fact.code.clone()) {
            rows.push(row(&fact, rule)?);
        }
    }
    rows.sort_by(|left, right| order(spec.keys, left, right));
    Ok(rows)
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
