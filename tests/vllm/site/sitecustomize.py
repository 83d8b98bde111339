"""Lets torchvision be imported beside a CPU build of torch, where this folder is on the path.

Python imports it in every process of vLLM's environment, in which this project is not installed.
"""

import importlib.util
from pathlib import Path

_SHIM = Path(__file__).resolve().parents[3] / "training" / "torchvision_ops.py"
_SPEC = importlib.util.spec_from_file_location("loreglass_torchvision_ops", _SHIM)
if _SPEC is not None and _SPEC.loader is not None:
    _MODULE = importlib.util.module_from_spec(_SPEC)
    _SPEC.loader.exec_module(_MODULE)
    _MODULE.make_importable()
