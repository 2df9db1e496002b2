"""The hooks of the documentation, which are no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def _hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hooks_{name}", ROOT / "docs" / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


complete = _hook("complete")
examples = _hook("examples")
measured = _hook("measured")
notebooks = _hook("notebooks")
studies = _hook("studies")
uses = complete.uses
