//! What a WebAssembly file is made of.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// A part of a file, and its size.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// How large it is.
    pub bytes: usize,
}

/// The names of sections by their number.
const SECTIONS: [&str; 14] = [
    "custom",
    "types",
    "imports",
    "functions",
    "tables",
    "memories",
    "globals",
    "exports",
    "start",
    "elements",
    "code",
    "data",
    "data count",
    "tags",
];

/// The sections of a core module, the largest first.
///
/// # Errors
/// Where the bytes are no core module.
pub fn sections(module: &[u8]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Some((number, range)) = payload?.as_section() {
            let name = SECTIONS.get(usize::from(number)).context("a section without a name")?;
            parts.push(Part { name: String::from(*name), bytes: range.len() });
        }
    }
    Ok(sorted(parts))
}

/// The functions of a core module by their names, the largest first. A stripped module has no names.
///
/// # Errors
/// Where the bytes are no core module, or one without names.
pub fn functions(module: &[u8]) -> Result<Vec<Part>> {
    let (mut bodies, mut imported, mut names) = (Vec::new(), 0, BTreeMap::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => imported = section.count(),
            Payload::CodeSectionEntry(body) => bodies.push(body.range().len()),
            Payload::CustomSection(section) => {
                let KnownCustom::Name(reader) = section.as_known() else { continue };
                for kind in reader {
                    let Name::Function(map) = kind? else { continue };
                    for naming in map {
                        let naming = naming?;
                        names.insert(naming.index, naming.name);
                    }
                }
            }
            _ => {}
        }
    }
    if names.is_empty() {
        bail!("the module's functions have no names");
    }
    let part = |(index, bytes)| {
        let name = names.get(&(imported + u32::try_from(index)?)).copied().unwrap_or("?");
        Ok(Part { name: format!("{:#}", rustc_demangle::demangle(name)), bytes })
    };
    Ok(sorted(bodies.into_iter().enumerate().map(part).collect::<Result<_>>()?))
}

/// The functions' sizes by the first `depth` parts of their paths, the largest first.
pub fn by_module(functions: &[Part], depth: usize) -> Vec<Part> {
    let mut sums: BTreeMap<String, usize> = BTreeMap::new();
    for function in functions {
        let path = function.name.trim_start_matches(['<', '&']);
        let module: Vec<&str> = path.split("::").take(depth).collect();
        *sums.entry(module.join("::")).or_default() += function.bytes;
    }
    sorted(sums.into_iter().map(|(name, bytes)| Part { name, bytes }).collect())
}

/// The bytes of a component's only core module.
///
/// # Errors
/// Where the bytes are no component with one core module.
pub fn core_module(component: &[u8]) -> Result<&[u8]> {
    let mut modules = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload? {
            modules.push(unchecked_range);
        }
    }
    match modules.as_slice() {
        [range] => component.get(range.clone()).context("the module lies outside the file"),
        _ => bail!("{} core modules where one was expected", modules.len()),
    }
}

/// The largest parts first.
fn sorted(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|left, right| right.bytes.cmp(&left.bytes).then_with(|| left.name.cmp(&right.name)));
    parts
}
