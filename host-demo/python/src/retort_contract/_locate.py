"""Where the component is: named by the environment, inside the package, or built in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

FILE_NAME = "retort.component.wasm"

#: Names another component file, for example one that was rebuilt.
ENVIRONMENT_VARIABLE = "RETORT_COMPONENT"


def component_path() -> Path:
    """The component's file.

    Raises:
        FileNotFoundError: The package was installed without its component.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named)
    here = Path(__file__).resolve().parent
    candidates = [here / FILE_NAME, *(parent / "target" / "retort" / FILE_NAME for parent in here.parents)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"{FILE_NAME} is not in this package; run `make component` in a checkout")
