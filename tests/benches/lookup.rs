//! How long one look-up takes: `cargo bench -p retort-tests --bench lookup`.

use divan::black_box;
use retort::systems::System;
use retort::tables::{self, Layer};

fn main() {
    divan::main();
}

#[divan::bench]
fn number_hit() -> Option<tables::Row> {
    tables::by_number(black_box(System::Mysql), black_box(1062))
}

#[divan::bench]
fn number_miss() -> Option<tables::Row> {
    tables::by_number(black_box(System::Mysql), black_box(999_999))
}

#[divan::bench]
fn sqlstate_hit() -> Option<tables::Row> {
    tables::by_name(black_box(System::Postgresql), black_box("23505"))
}

#[divan::bench]
fn qualified_class_hit() -> Option<tables::Row> {
    tables::by_name(black_box(System::Postgresql), black_box("psycopg2.errors.UniqueViolation"))
}

#[divan::bench]
fn name_miss_in_five_tables() -> Option<tables::Row> {
    tables::by_name(black_box(System::Postgresql), black_box("NoSuchThing"))
}

#[divan::bench]
fn layer_hit() -> Option<tables::Row> {
    tables::layer(black_box(Layer::Transport), black_box("ECONNRESET"))
}

#[divan::bench]
fn text_hit() -> Option<(tables::Row, tables::TextMatch)> {
    let text = "duplicate key value violates unique constraint \"members_pkey\"";
    tables::by_text(black_box(System::Postgresql), None, black_box(text))
}

#[divan::bench]
fn text_miss_in_five_tables() -> Option<(tables::Row, tables::TextMatch)> {
    let text = "something that no server ever said in these words, at some length";
    tables::by_text(black_box(System::Postgresql), None, black_box(text))
}
