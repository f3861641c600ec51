//! The drill's figures, for people and programs.

use anstream::println;
use comfy_table::{ContentArrangement, Table, presets};
use owo_colors::OwoColorize;

use super::Figures;

/// Prints the figures.
pub fn figures(figures: &Figures, as_json: bool) {
    if as_json {
        println!("{}", serde_json::to_string(figures).unwrap_or_default());
        return;
    }
    let mut failures = table(&["database", "failure", "checks", "wrong"]);
    let mut ledger = table(&[
        "database",
        "writes: what the client obeys",
        "writes",
        "attempts",
        "applied twice",
        "false claims",
        "unknown",
        "resolved",
        "needless unknown",
    ]);
    for database in &figures.databases {
        for outcome in &database.failures {
            failures.add_row([
                database.database,
                outcome.name,
                &outcome.checks.to_string(),
                &outcome.skipped.as_ref().map_or(outcome.wrong.to_string(), |_| String::from("skipped")),
            ]);
        }
        for (name, totals) in &database.ledger {
            let counts = [
                totals.writes,
                totals.attempts,
                totals.applied_twice,
                totals.false_claims,
                totals.unknown,
                totals.resolved,
                totals.needless_unknown,
            ];
            let row = [database.database.to_owned(), name.clone()]
                .into_iter()
                .chain(counts.map(|count| count.to_string()));
            ledger.add_row(row.collect::<Vec<_>>());
        }
    }
    println!("{failures}\n\n{ledger}\n");
    for outcome in figures.databases.iter().flat_map(|database| &database.failures) {
        if let Some(wrong) = &outcome.first_wrong {
            println!("{} {}: {wrong}", "wrong".red(), outcome.name);
        }
    }
    for outcome in figures.databases.iter().flat_map(|database| &database.failures) {
        if let Some(why) = &outcome.skipped {
            println!("{} {}: {why}", "skipped".yellow(), outcome.name);
        }
    }
    let totals = &figures.totals;
    println!(
        "{} writes: {} applied twice, {} false claims, {} unknown, {} resolved; {} checks failed",
        totals.writes,
        totals.applied_twice,
        totals.false_claims,
        totals.unknown,
        totals.resolved,
        figures.failed_checks
    );
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|title| title.to_string()));
    table
}
