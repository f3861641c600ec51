"""Measures every host in one run and prints the README's table: `make bench-hosts`.

The hosts take turns, so that all of them meet the same disturbances; each figure is the median of its rounds. All of
them judge `report.json`, and measure processor time, since the machine may be busy with other things; but for those
behind HTTP, which measure the time that passes.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGES = REPOSITORY / "target/retort/packages"
ROUNDS = 5

#: Host, runtime, its package, and how many lines of a server adopt it.
HOSTS = {
    "native": ("Rust, the library itself", "none", None, 2),
    "rust fresh": ("Rust, an instance a call", "wasmtime", None, 2),
    "rust reused": ("Rust, instance kept", "wasmtime", None, 2),
    "python": ("Python", "wasmtime", "retort_contract-*.whl", 3),
    "node": ("Node", "V8, core module", "retort-contract-*.tgz", 3),
    "go": ("Go", "wazero, core module", "go/retort.dev/contract/@v/*.zip", 3),
    "java": ("Java", "Endive, core module", "retort-contract-*.jar", 2),
    "workerd": ("Cloudflare's workerd, HTTP included", "V8, core module", "retort-contract-*.tgz", 3),
    "sidecar": ("Any, `retort sidecar`, HTTP included", "wasmtime", None, 1),
}

#: How each host is run, and where. Each prints a JSON object a line, but for Go, whose own benchmarks are read.
COMMANDS = (
    (["cargo", "bench", "--quiet", "--workspace", "--features", "retort-host/embed", "--bench", "call"], "."),
    (["target/python-venv/bin/python", "host-demo/python/tests/measure.py"], "."),
    (["node", "scripts/bench.mjs"], "host-demo/node"),
    (["go", "test", "-run", "^$", "-bench", ".", "-benchtime", "1s", "."], "host-demo/go"),
    (["node", "bench.mjs"], "host-demo/workers"),
    (["java", "-cp", "@classpath", "dev.retort.contract.Bench"], "host-demo/java"),
)
GO = re.compile(r"^Benchmark(Evaluate|Start)\b.*?([\d.]+) cpu-[um]s/op", re.MULTILINE)


def classpath() -> str:
    """What Java's benchmark needs."""
    java = REPOSITORY / "host-demo/java"
    file = java / "target/classpath"
    command = ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={file}"]
    subprocess.run(command, cwd=java, check=True)
    return f"target/classes:target/test-classes:{file.read_text(encoding='utf-8')}"


def run(command: list[str], folder: str) -> list[dict]:
    """One round of one host."""
    done = subprocess.run(command, cwd=REPOSITORY / folder, check=True, capture_output=True, text=True)
    if command[0] == "go":
        figures = dict(GO.findall(done.stdout))
        return [{"host": "go", "json_us": float(figures["Evaluate"]), "first_call_ms": float(figures["Start"])}]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def size(pattern: str | None) -> str:
    """A package's size."""
    found = sorted(PACKAGES.glob(pattern)) if pattern else []
    return f"{found[-1].stat().st_size / 1000:.0f} kB" if found else ""


def main() -> None:
    """Prints the table."""
    commands = [([classpath() if word == "@classpath" else word for word in command], at) for command, at in COMMANDS]
    rounds: dict[str, list[dict]] = defaultdict(list)
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
        for command, folder in commands:
            for measured in run(command, folder):
                rounds[measured["host"]].append(measured)

    def median(host: str, figure: str) -> float:
        return statistics.median(measured[figure] for measured in rounds[host])

    native = median("native", "json_us")
    print("| host | runtime | µs a verdict | ratio to native | first verdict | package | lines to adopt |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for host, (name, runtime, package, lines) in HOSTS.items():
        call, start = median(host, "json_us"), median(host, "first_call_ms")
        cached = [measured["first_call_cached_ms"] for measured in rounds[host] if "first_call_cached_ms" in measured]
        first = f"{start:.0f} ms" if start else ""
        if cached:
            first = f"{statistics.median(cached):.0f} ms cached, {start:.0f} ms compiling"
        print(f"| {name} | {runtime} | {call:.0f} | {call / native:.1f} | {first} | {size(package)} | {lines} |")


if __name__ == "__main__":
    main()
