"""Times two scrubbers of PyPI over a text: sentry-relay 0.10.1 and presidio-analyzer 2.2.366.

Usage: pip install sentry-relay==0.10.1 presidio-analyzer==2.2.366 && python peers.py TEXT
Prints name and median in nanoseconds per call, with a tab between; a scrubber that is not installed is named as such.
"""

import statistics
import sys
import time


def relay():
    """Relay's common rules over an event that holds the text as its message."""
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


def median(call, text, runs=100):
    """The median of some calls, in nanoseconds."""
    call(text)
    times = []
    for _ in range(runs):
        start = time.perf_counter_ns()
        call(text)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times)


if __name__ == "__main__":
    peers = {"sentry-relay 0.10.1": relay, "presidio 2.2.366, patterns only": presidio}
    for name, make in peers.items():
        try:
            print(f"{name}\t{median(make(), sys.argv[1]):.0f}")
        except ImportError:
            print(f"{name}: not installed")
