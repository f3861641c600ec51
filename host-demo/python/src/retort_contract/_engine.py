"""The component under wasmtime: compiled once per process, one instance per thread, every call bounded.

A component without imports touches none of wasmtime-py's process-wide tables, and an instance never leaves its thread,
so calls need no lock. After a trap the instance is gone and the next call gets a new one.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
import weakref

import wasmtime
from wasmtime import component

from . import _cache, _locate

INTERFACE = "retort:contract/json@0.1.0"

#: The most memory of an instance, in bytes.
MEMORY_BYTES = 16 << 20
#: How long a call may take, in ticks of the engine's clock, and how long a tick is, in seconds. Fuel would need no
#: clock, but makes every call a quarter slower.
DEADLINE_TICKS = 8
TICK_SECONDS = 0.25
#: Linear memory never shrinks: an instance that met a text as long as this is not kept.
LARGE_TEXT = 128 << 10


class ComponentFault(Exception):
    """The component trapped, ran out of time or memory, or could not be loaded."""


class Engine:
    """A compiled component that any thread may call.

    Args:
        wasm: The component's bytes.
        memory_bytes: The most memory of an instance.
        deadline_ticks: How long a call may take.
    """

    def __init__(self, wasm: bytes, *, memory_bytes: int = MEMORY_BYTES, deadline_ticks: int = DEADLINE_TICKS) -> None:
        config = wasmtime.Config()
        config.epoch_interruption = True
        self._engine = wasmtime.Engine(config)
        self._component = _compiled(self._engine, wasm)
        self._memory_bytes = memory_bytes
        self._deadline_ticks = deadline_ticks
        self._idle = threading.local()
        self._ticking_process = 0

    def call(self, function: str, text: str | None = None) -> str:
        """Calls a function of the JSON interface, such as `evaluate`.

        Raises:
            ComponentFault: There is no answer; the next call gets a new instance.
        """
        if self._ticking_process != os.getpid():
            # The first call, or the first one after a fork, which no thread survives.
            self._ticking_process = os.getpid()
            watched = (weakref.ref(self._engine),)
            threading.Thread(target=_tick, args=watched, name="retort-contract-clock", daemon=True).start()
        try:
            instance: _Instance | None = self._idle.__dict__.pop("instance", None)
            if instance is None:
                instance = _Instance(self._engine, self._component, self._memory_bytes, self._deadline_ticks)
            instance.store.set_epoch_deadline(self._deadline_ticks)
            arguments = () if text is None else (_encodable(text),)
            answer = instance.function(function)(instance.store, *arguments)
        except Exception as error:
            # Its words could come from the report, so only its class is named.
            raise ComponentFault(type(error).__name__) from error
        if text is None or len(text) < LARGE_TEXT:
            self._idle.instance = instance
        return str(answer)


class _Instance:
    """An instance, which belongs to one thread."""

    def __init__(
        self, engine: wasmtime.Engine, compiled: component.Component, memory_bytes: int, deadline_ticks: int
    ) -> None:
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=memory_bytes)
        self.store.set_epoch_deadline(deadline_ticks)
        self._instance = component.Linker(engine).instantiate(self.store, compiled)
        self._interface = self._instance.get_export_index(self.store, INTERFACE)
        self._functions: dict[str, component.Func] = {}

    def function(self, name: str) -> component.Func:
        found = self._functions.get(name)
        if found is None:
            index = self._instance.get_export_index(self.store, name, self._interface)
            found = self._instance.get_func(self.store, index) if index is not None else None
            if found is None:
                raise LookupError(name)
            # wasmtime-py reads a function's type from the component at each call, which costs as much as the call.
            found.type = _Type(found.type(self.store))  # type: ignore[assignment, method-assign]
            self._functions[name] = found
        return found


class _Type:
    """A function's type, read once."""

    def __init__(self, read: component.FuncType) -> None:
        self.params = read.params
        self.result = read.result

    def __call__(self, store: wasmtime.Store) -> _Type:
        return self


def _tick(engine: weakref.ref[wasmtime.Engine]) -> None:
    """Advances the clock by which calls are interrupted, as long as the engine lives."""
    while (ticked := engine()) is not None:
        ticked.increment_epoch()
        del ticked
        time.sleep(TICK_SECONDS)


def _encodable(text: str) -> str:
    """The text without lone surrogates, which have no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _compiled(engine: wasmtime.Engine, wasm: bytes) -> component.Component:
    """The compiled component, from the cache where wasmtime's version and the bytes are the same."""
    import importlib.metadata

    digest = hashlib.sha256(wasm).hexdigest()
    version = importlib.metadata.version("wasmtime")
    name = f"{digest[:32]}-wasmtime-{version}-{platform.machine()}-epoch.cwasm"
    cached = _cache.load(name)
    if cached is not None:
        try:
            return component.Component.deserialize(engine, cached)
        except wasmtime.WasmtimeError:
            # Another build of wasmtime, or another processor: compiled anew below.
            pass
    compiled = component.Component(engine, wasm)
    _cache.store(name, bytes(compiled.serialize()))
    return compiled


_shared: Engine | None = None
_shared_lock = threading.Lock()


def shared() -> Engine:
    """The process's engine, compiled on first use.

    Raises:
        ComponentFault: The component is missing or cannot be compiled.
    """
    global _shared
    engine = _shared
    if engine is None:
        with _shared_lock:
            engine = _shared
            if engine is None:
                try:
                    engine = Engine(_locate.component_path().read_bytes())
                except (OSError, wasmtime.WasmtimeError) as error:
                    raise ComponentFault(type(error).__name__) from error
                _shared = engine
    return engine
