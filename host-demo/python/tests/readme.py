"""Runs every Python block of the README in a process of its own: `python readme.py README.md`."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(readme: Path) -> list[str]:
    """The README's Python blocks."""
    return BLOCK.findall(readme.read_text(encoding="utf-8"))


def main(readme: Path) -> int:
    """Runs the blocks; how many failed."""
    found = blocks(readme)
    failed = 0
    for number, block in enumerate(found, 1):
        with tempfile.TemporaryDirectory() as folder:
            status = subprocess.run([sys.executable, "-c", block], cwd=folder, check=False).returncode
        print(f"README block {number}: {'passes' if status == 0 else 'FAILS'}")
        failed += status != 0
    return failed if found else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
