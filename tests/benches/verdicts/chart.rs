//! The figures as bars, on a scale of tens.

use std::error::Error;
use std::path::Path;

use plotters::prelude::{
    BLACK, BLUE, Color as _, IntoDrawingArea as _, IntoFont as _, Rectangle, SVGBackend, Text, WHITE,
};

/// Height of a row, where the bars begin, and how long one ten times as long is, in pixels.
const ROW: i32 = 22;
const LEFT: i32 = 330;
const TENFOLD: f64 = 120.0;

/// Draws the chart into an SVG file.
pub fn draw(file: &Path, bars: &[(&str, f64)]) -> Result<(), Box<dyn Error>> {
    let height = 50 + ROW * i32::try_from(bars.len())?;
    let area = SVGBackend::new(file, (960, height.unsigned_abs())).into_drawing_area();
    let write = |text: &str, at: (i32, i32), size: i32| {
        area.draw(&Text::new(text.to_owned(), at, ("sans-serif", size).into_font().color(&BLACK)))
    };
    area.fill(&WHITE)?;
    write("Microseconds per verdict, on a scale of tens", (12, 12), 18)?;
    for ((name, value), top) in bars.iter().zip((42..).step_by(ROW as usize)) {
        write(name, (12, top), 13)?;
        let end = LEFT + 2 + (value.max(1.0).log10() * TENFOLD) as i32;
        area.draw(&Rectangle::new([(LEFT, top), (end, top + ROW - 8)], BLUE.mix(0.6).filled()))?;
        write(&format!("{value:.1}"), (end + 6, top), 13)?;
    }
    area.present()?;
    Ok(())
}
