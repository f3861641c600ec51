"""A per-user cache of the compiled component.

Compiled code is executed as it is, so a cached file is trusted only where nobody else can have written it: folder and
file belong to this user, nobody else may write to them, and neither is a symbolic link. Where that does not hold, or
anything else goes wrong, there is no cache and the component is compiled.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

#: Names the folder; an empty value turns the cache off.
ENVIRONMENT_VARIABLE = "RETORT_CACHE_DIR"

_DIGEST_BYTES = hashlib.sha256().digest_size
_SUPPORTED = sys.platform != "win32"


def folder() -> Path | None:
    """The cache folder of this user; `None` where caching is off or not supported."""
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named == "" or not _SUPPORTED:
        return None
    if named is not None:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "retort"
    try:
        return Path.home() / ".cache" / "retort"
    except RuntimeError:
        return None


def load(name: str) -> bytes | None:
    """The cached bytes; `None` where there are none that can be trusted."""
    try:
        directory = _open_folder(create=False)
        if directory is None:
            return None
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        finally:
            os.close(directory)
        with os.fdopen(file, "rb") as stream:
            if not _is_private(os.fstat(stream.fileno()), stat.S_ISREG):
                return None
            content = stream.read()
    except OSError:
        return None
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def store(name: str, payload: bytes) -> bool:
    """Keeps the bytes under the name; other processes see all of them or none. Was it possible?"""
    temporary = f"{name}.{os.getpid()}.{os.urandom(8).hex()}"
    try:
        directory = _open_folder(create=True)
        if directory is None:
            return False
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(temporary, flags, 0o600, dir_fd=directory)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(hashlib.sha256(payload).digest())
                    stream.write(payload)
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                os.unlink(temporary, dir_fd=directory)
                raise
        finally:
            os.close(directory)
    except OSError:
        return False
    return True


def _open_folder(*, create: bool) -> int | None:
    """The folder's descriptor, so that what was checked is what is used."""
    path = folder()
    if path is None:
        return None
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if _is_private(os.fstat(directory), stat.S_ISDIR):
        return directory
    os.close(directory)
    return None


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Is it ours, of the right kind, and can nobody else write to it?"""
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not others_may_write
