"""Times two scrubbers of PyPI over the texts of the benchmark: sentry-relay 0.10.1 and presidio-analyzer 2.2.366.

Usage: pip install sentry-relay==0.10.1 presidio-analyzer==2.2.366 && python peers.py
A scrubber that is not installed is left out. Prints the median in nanoseconds per call.
"""

import statistics
import time

CLEAN = (
    "2024-05-01 12:30:45 INFO scheduler: the nightly job finished after 3 attempts; the queue is empty "
    "again and all workers are idle. The next run starts in 60 minutes. No rows were changed, no lock was held longer "
    "than expected, and the cache was refreshed without any trouble."
)
DIRTY = (
    'ERROR: duplicate key value violates unique constraint "users_email_key"\nDETAIL:  Key '
    "(email)=(ada@example.com) already exists.\n[SQL: INSERT INTO users (id, email) VALUES (1, 'ada@example.com')]\n"
    'connection to server at "10.1.2.3", port 5432: postgres://app:s3cret@db.internal:5432/ledger password=hunter2\n'
    "at com.example.Dao.save(Dao.java:17)"
)


def relay():
    """Relay's value rules over an event that holds the text as its message."""
    from sentry_relay.processing import pii_strip_event

    config = {"applications": {"$message": ["@common"]}}
    return lambda text: pii_strip_event(config, {"logentry": {"formatted": text}})


def presidio():
    """Presidio's pattern recognisers, with a blank pipeline instead of a language model."""
    import spacy
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    engine = SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}
    analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return lambda text: analyzer.analyze(text, language="en")


def median(call, text, runs=200):
    """The median of some calls, in nanoseconds."""
    call(text)
    times = []
    for _ in range(runs):
        start = time.perf_counter_ns()
        call(text)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)


if __name__ == "__main__":
    for name, make in (("sentry-relay", relay), ("presidio", presidio)):
        try:
            scrub = make()
        except ImportError:
            print(f"{name}: not installed")
            continue
        for what, text in (("clean", CLEAN), ("dirty", DIRTY)):
            print(f"{what:<6} {name:<14} {len(text):>6} bytes {median(scrub, text):>12.0f} ns")
