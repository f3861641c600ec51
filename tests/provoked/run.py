"""Provokes errors on real databases and compares each verdict with what really happened.

`run.py [SYSTEM …] [--case=WORDS] [--show]`: a line per database and driver; fails on an over-claim, a leak, a wrong
`retryable` or an unexpected code.
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback

import duckdb_files
import mariadb
import postgresql
import redis_server
import sqlite
from model import Case, Judged, provoke
from node import Node

SYSTEMS: dict[str, tuple[type, list[Case]]] = {
    "postgresql": (postgresql.Postgresql, postgresql.CASES),
    "mariadb": (mariadb.Mariadb, mariadb.CASES),
    "sqlite": (sqlite.Sqlite, sqlite.CASES),
    "duckdb": (duckdb_files.Duckdb, duckdb_files.CASES),
    "redis": (redis_server.Redis, redis_server.CASES),
}
"""How each system is looked at, and what is provoked there."""


def main(arguments: list[str]) -> int:
    wanted = [word for word in arguments if not word.startswith("--")]
    if not wanted:
        return at_once(arguments)
    only = next((word.partition("=")[2] for word in arguments if word.startswith("--case=")), "")
    node = Node()
    failures = 0
    try:
        for name in wanted:
            world_of, cases = SYSTEMS[name]
            started = time.monotonic()
            world = world_of(node)
            try:
                for driver in world.drivers:
                    chosen = [case for case in cases if only in case.name and driver in (case.drivers or [driver])]
                    failures += check(world, driver, chosen, "--show" in arguments)
            finally:
                world.stop()
            print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    finally:
        node.stop()
    return 1 if failures else 0


def at_once(arguments: list[str]) -> int:
    """Each system in a process of its own, since most of the time is waiting."""
    command = [sys.executable, __file__, *arguments]
    runs = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in SYSTEMS]
    for run in runs:
        print(run.communicate()[0], end="", flush=True)
    return max(run.returncode for run in runs)


def check(world: object, driver: str, cases: list[Case], is_shown: bool) -> int:
    """Provokes the cases through one driver, prints their line and what is wrong; the number of wrong ones."""
    judged: list[Judged] = []
    wrong = 0
    for case in cases:
        try:
            result = provoke(world, driver, case)
        except Exception:
            wrong += 1
            print(f"  {driver}: {case.name}: could not be provoked: {traceback.format_exc(limit=-1)}")
            continue
        judged.append(result)
        faults = result.faults()
        wrong += bool(faults)
        if faults or is_shown or result.is_needlessly_unknown:
            print(f"  {driver}: {case.name}: {'; '.join(faults) or 'as expected'}\n    {describe(result)}")
    print(summary(world.system, driver, judged))
    return wrong


def describe(result: Judged) -> str:
    envelope, diagnostic = result.verdict.envelope, result.verdict.diagnostic
    effect = "took effect" if result.had_effect else "no effect"
    blind = result.blind.envelope
    return (
        f"{envelope.code} {envelope.outcome} retryable={envelope.retryable} by {diagnostic.get('rule')}; {effect}; "
        f"blind {blind.code} {blind.outcome} by {result.blind.diagnostic.get('rule')}; "
        f"{diagnostic.get('message')!r}"
    )


def summary(system: str, driver: str, judged: list[Judged]) -> str:
    faults = [fault for result in judged for fault in result.faults()]
    count = lambda word: sum(word in fault for fault in faults)  # noqa: E731
    right = len(judged) - sum(fault.startswith("code") for fault in faults)
    over = sum("over-claim" in " ".join(result.faults()) for result in judged)
    needless = sum(result.is_needlessly_unknown for result in judged)
    blind = sum(result.blind.envelope.code in result.case.codes.split() for result in judged)
    return (
        f"{system:12} {driver:24} {len(judged):3} cases, code {right:3} (blind {blind:3}), "
        f"outcome {len(judged) - over - needless:3}, needlessly unknown {needless}, over-claimed {over}, "
        f"wrong retryable {count('retryable, though')}, leaks {count('leak of')}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
