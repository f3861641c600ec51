//! The properties of the fuzz targets hold for what fuzzing has kept, and for every input that once broke one.

use retort_tests::{corpus, properties};

#[test]
fn every_property_holds_for_its_kept_corpus() {
    for (target, property) in properties::ALL {
        let seeds = corpus::fuzz_seeds(target);
        assert!(!seeds.is_empty(), "{target} has a corpus");
        seeds.iter().for_each(|seed| property(seed));
    }
}

#[test]
fn what_once_broke_a_property_breaks_none() {
    for regression in corpus::regressions() {
        for (_, property) in properties::ALL {
            property(&regression.input);
        }
    }
}
