use retort_host::{Component, Contract, Options};

fn main() -> Result<(), retort_host::Error> {
    let contract = Component::load(None, Options::default())?;
    println!("{}", contract.evaluate(r#"{"error": {"code": "23505"}, "system": "postgresql"}"#));
    Ok(())
}
