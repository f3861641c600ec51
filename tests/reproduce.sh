#!/usr/bin/env bash
# Builds the component from a copy of the sources in another folder, and compares it with the one given, byte for byte.
set -euo pipefail
component=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git -C "$root" ls-files -z -- .cargo Cargo.toml Cargo.lock rust-toolchain.toml wit guest host-demo tests |
  (cd "$root" && xargs -0 cp --parents -t "$folder")
cd "$folder"
CARGO_TARGET_DIR="$folder/target" cargo build --quiet --locked -p retort-component --target wasm32-wasip2 --profile component
sha256sum "$component" "$folder/target/wasm32-wasip2/component/retort_component.wasm"
cmp "$component" "$folder/target/wasm32-wasip2/component/retort_component.wasm"
