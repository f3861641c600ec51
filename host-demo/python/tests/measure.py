"""Measures a warm verdict and a start, with and without the cache: `python measure.py`.

Gives the least of repeated runs, because everything that disturbs a run makes it longer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPORT = (Path(__file__).parents[2] / "bench/report.json").read_text(encoding="utf-8")

#: Prints how many milliseconds the import and the first verdict take.
START = """
import time
begin = time.process_time()
import retort_contract
imported = time.process_time()
retort_contract.raw.evaluate("{}")
print((imported - begin) * 1000, (time.process_time() - imported) * 1000)
"""


def least(work: Callable[[], object], *, calls: int = 500, runs: int = 30) -> float:
    """Microseconds of processor time per call, which other processes disturb less than the clock."""
    best = float("inf")
    for _ in range(runs):
        begin = time.thread_time()
        for _ in range(calls):
            work()
        best = min(best, (time.thread_time() - begin) / calls)
    return best * 1e6


def start(cache: str) -> tuple[float, float]:
    """Milliseconds of processor time of the import and of the first verdict in a new process."""
    environment = {**os.environ, "RETORT_CACHE_DIR": cache}
    command = [sys.executable, "-c", START]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    imported, first = map(float, printed.split())
    return imported, first


def main() -> None:
    """Prints one JSON object."""
    from retort_contract import capture, contract, raw

    error = KeyError("x")
    value = json.loads(REPORT)
    measured = {
        "json_us": least(lambda: raw.evaluate(REPORT)),
        "value_us": least(lambda: contract.evaluate(value)),
        "capture_us": least(lambda: capture(error)),
        "version_us": least(raw.version),
    }
    with tempfile.TemporaryDirectory() as folder:
        measured["first_call_ms"] = min(start("")[1] for _ in range(3))
        start(folder)
        measured["first_call_cached_ms"] = min(start(folder)[1] for _ in range(3))
    print(json.dumps({"host": "python", **{name: round(figure, 2) for name, figure in measured.items()}}))


if __name__ == "__main__":
    main()
