//! What `make component` leaves: a component of the WIT world with an empty import list, and its core module.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use retort_host::{Component, Options};
use retort_tests::golden::FUNCTIONS;
use retort_tests::sizes;
use wasmparser::{Encoding, ExternalKind, Parser, Payload};

/// The most bytes of the component, and of the component compressed.
const LARGEST: usize = 600_000;
const LARGEST_COMPRESSED: usize = 220_000;

pub(crate) fn artefact(name: &str) -> Vec<u8> {
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; `make component` builds it", path.display()))
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/retort").join(name)
}

/// Names of the imports and exports of the outermost component or module, and its core modules.
#[derive(Default)]
struct Outline {
    imports: Vec<String>,
    exports: Vec<String>,
    functions: Vec<String>,
    /// The most memory that the module lets itself have, in bytes.
    memory_limit: Option<u64>,
    has_memory: bool,
    modules: Vec<Vec<u8>>,
}

fn outline(bytes: &[u8]) -> Outline {
    let mut outline = Outline::default();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.expect("WebAssembly") {
            Payload::Version { encoding, .. } => {
                depth += usize::from(depth > 0 || encoding == Encoding::Component)
            }
            Payload::End(_) => depth = usize::saturating_sub(depth, 1),
            Payload::ModuleSection { unchecked_range, .. } => {
                outline.modules.push(bytes[unchecked_range].to_vec());
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                let imports =
                    section.into_iter().map(|import| import.expect("an import").name.name.to_owned());
                outline.imports.extend(imports);
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                let exports =
                    section.into_iter().map(|export| export.expect("an export").name.name.to_owned());
                outline.exports.extend(exports);
            }
            Payload::ImportSection(section) if depth == 0 => {
                outline.imports.extend((0..section.count()).map(|index| format!("import {index}")));
            }
            Payload::MemorySection(section) if depth == 0 => {
                for memory in section {
                    outline.memory_limit = memory.expect("a memory").maximum.map(|pages| pages << 16);
                }
            }
            Payload::ExportSection(section) if depth == 0 => {
                for export in section {
                    let export = export.expect("an export");
                    match export.kind {
                        ExternalKind::Memory => outline.has_memory |= export.name == "memory",
                        ExternalKind::Func => outline.functions.push(String::from(export.name)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    outline
}

#[test]
fn component_imports_nothing_and_exports_both_interfaces() {
    let outline = outline(&artefact("retort.component.wasm"));
    assert_eq!(outline.imports, Vec::<String>::new());
    assert_eq!(outline.exports, ["retort:contract/contract@0.1.0", "retort:contract/json@0.1.0"]);
}

/// The host's bindings come from the contract's WIT; loading compares the type of every export with them.
#[test]
fn component_satisfies_the_world_of_the_contract() {
    let component = Component::load(Some(&path("retort.component.wasm")), Options::default());
    assert!(component.is_ok(), "{:?}", component.err());
}

#[test]
fn core_module_imports_nothing_and_exports_what_hosts_without_components_need() {
    let outline = outline(&artefact("retort.core.wasm"));
    assert_eq!(outline.imports, Vec::<String>::new());
    assert!(outline.has_memory, "the memory is exported");
    assert_eq!(outline.memory_limit, Some(16 << 20), "hosts that set no limit have the module's own");
    let calls = FUNCTIONS.iter().map(|name| format!("retort:contract/json@0.1.0#{name}"));
    let posts = FUNCTIONS.iter().map(|name| format!("cabi_post_retort:contract/json@0.1.0#{name}"));
    for name in calls.chain(posts).chain([String::from("cabi_realloc")]) {
        assert!(outline.functions.contains(&name), "{name} is not among {:?}", outline.functions);
    }
}

#[test]
fn core_module_is_the_components_only_one() {
    let outline = outline(&artefact("retort.component.wasm"));
    assert_eq!(outline.modules, [artefact("retort.core.wasm")]);
}

/// The size of some bytes as `gzip -9` leaves them, without its header.
fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all").len()
}

#[test]
fn component_is_within_its_size() {
    let component = artefact("retort.component.wasm");
    let (size, small) = (component.len(), compressed(&component));
    println!("{size} bytes, {small} compressed");
    for part in sizes::sections(&artefact("retort.core.wasm")).expect("a core module") {
        println!("{:>8} {}", part.bytes, part.name);
    }
    assert!(size <= LARGEST, "{size} bytes, at most {LARGEST}");
    assert!(small <= LARGEST_COMPRESSED, "{small} bytes compressed, at most {LARGEST_COMPRESSED}");
}
