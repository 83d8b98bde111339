"""Runs buf on the published contracts."""

import json
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto"
PUBLISHED = PROTO / "published.json"

Image = dict[str, Any]
"""A buf image: `{"file": [FileDescriptorProto, ...]}` in protobuf's JSON."""


def buf(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run buf from the environment that runs the tests; the caller looks at the return code."""
    beside_python = Path(sysconfig.get_path("scripts")) / "buf"
    program = str(beside_python) if beside_python.exists() else shutil.which("buf")
    if program is None:
        raise FileNotFoundError("buf is missing: install the development dependencies (buf-bin)")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)


@cache
def built_image_text() -> str:
    """What buf makes of the working tree, as JSON text."""
    built = buf("build", str(PROTO), "-o", "-#format=json")
    if built.returncode != 0:
        raise AssertionError(built.stdout + built.stderr)
    return built.stdout


def built_image() -> Image:
    """A fresh image that the caller may change."""
    image: Image = json.loads(built_image_text())
    return image
