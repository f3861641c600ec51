"""Measures a warm verdict and a start, with and without the cache: `python measure.py`.

Prints the least of repeated runs, because everything that disturbs a run makes it longer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

REPORT = {
    "error": {
        "name": "psycopg.errors.UniqueViolation",
        "sqlstate": "23505",
        "message": 'duplicate key value violates unique constraint "orders_pkey"\nDETAIL:  Key (id)=(7) exists.',
    },
    "system": "postgresql",
    "operation": {"effect": "write", "phase": "execute", "transaction": "open"},
    "context": {"trace_id": "0af7651916cd43dd8448eb211c80319c"},
    "seed": 7,
}

#: Prints how many milliseconds the import and the first verdict take.
START = """
import time
begin = time.perf_counter()
import retort_contract
imported = time.perf_counter()
retort_contract.raw.evaluate("{}")
print((imported - begin) * 1000, (time.perf_counter() - imported) * 1000)
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
    """Milliseconds of the import and of the first verdict in a new process."""
    environment = {**os.environ, "RETORT_CACHE_DIR": cache}
    command = [sys.executable, "-c", START]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    imported, first = map(float, printed.split())
    return imported, first


def main() -> None:
    """Prints the figures."""
    from retort_contract import capture, contract, raw

    text = json.dumps(REPORT)
    error = KeyError("x")
    print(f"verdict as text, warm:        {least(lambda: raw.evaluate(text)):8.1f} µs")
    print(f"verdict as a value, warm:     {least(lambda: contract.evaluate(REPORT)):8.1f} µs")
    print(f"capture of an exception:      {least(lambda: capture(error)):8.1f} µs")
    print(f"the component's own `version`:{least(raw.version):8.1f} µs")
    with tempfile.TemporaryDirectory() as folder:
        first = [start("") for _ in range(5)]
        start(folder)
        cached = [start(folder) for _ in range(5)]
    print(f"import:                       {min(row[0] for row in first + cached):8.1f} ms")
    print(f"first verdict, compiling:     {min(row[1] for row in first):8.1f} ms")
    print(f"first verdict, cached:        {min(row[1] for row in cached):8.1f} ms")


if __name__ == "__main__":
    main()
