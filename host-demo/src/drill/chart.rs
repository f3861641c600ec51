//! The ledger as a chart: writes applied twice or claimed wrongly, by what the client obeys.

use std::path::Path;

use plotters::prelude::{
    BLACK, Color as _, GREEN, IntoDrawingArea as _, IntoFont as _, RED, Rectangle, SVGBackend, Text, WHITE,
};

use super::Figures;
use super::writers::POLICIES;

/// Height of a row, and where the bars begin and end, in pixels.
const ROW: i32 = 24;
const LEFT: i32 = 330;
const WIDTH: i32 = 500;

/// Draws the chart into an SVG file.
pub fn draw(file: &Path, figures: &Figures) -> Result<(), String> {
    let rows = figures.databases.iter().flat_map(|database| {
        POLICIES.iter().map(|(_, policy)| {
            let totals = database.of(policy);
            let wrong = totals.applied_twice + totals.false_claims;
            let name = format!("{}, {policy}: {wrong} of {}", database.database, totals.writes);
            (name, wrong as f64 / totals.writes.max(1) as f64)
        })
    });
    let rows: Vec<(String, f64)> = rows.collect();
    let height = 50 + ROW * i32::try_from(rows.len()).unwrap_or(1);
    let area = SVGBackend::new(file, (900, height.unsigned_abs())).into_drawing_area();
    let write = |text: String, at: (i32, i32), size: i32| {
        let text = Text::new(text, at, ("sans-serif", size).into_font().color(&BLACK));
        area.draw(&text).map_err(|error| error.to_string())
    };
    area.fill(&WHITE).map_err(|error| error.to_string())?;
    write(String::from("Writes applied twice or claimed wrongly, by what the client obeys"), (12, 12), 18)?;
    let mut top = 42;
    for (name, share) in rows {
        write(name, (12, top), 13)?;
        let colour = if share > 0.0 { RED } else { GREEN };
        let end = LEFT + 2 + (share * f64::from(WIDTH)) as i32;
        let bar = Rectangle::new([(LEFT, top), (end, top + ROW - 8)], colour.mix(0.7).filled());
        area.draw(&bar).map_err(|error| error.to_string())?;
        write(format!("{:.1} %", share * 100.0), (end + 6, top), 13)?;
        top += ROW;
    }
    area.present().map_err(|error| error.to_string())
}
