"""Every model engine runs with torch and transformers and without a web framework."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.bare_process import ENGINES
from tests.models.tiny_bge import tiny_bge
from tests.models.tiny_blip2 import tiny_blip2
from tests.models.tiny_clip import tiny_clip
from tests.models.tiny_gdino import tiny_gdino
from tests.models.tiny_qwen3 import tiny_qwen3
from tests.models.tiny_reader import tiny_reader

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One process for all engines: torch and transformers take seconds to import."""
    folder = tmp_path_factory.mktemp("bare")
    folders = {
        "clip": str(tiny_clip(folder / "clip").folder),
        "bge": str(tiny_bge(folder / "bge")),
        "gdino": str(tiny_gdino(folder / "gdino")),
        "blip2": str(tiny_blip2(folder / "blip2")),
        "qwen3": str(tiny_qwen3(folder / "qwen3")),
        "reader": str(tiny_reader(folder / "reader")),
    }
    written = folder / "outcomes.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.bare_process", json.dumps(folders), str(written)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "proto")])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(written.read_text("utf-8"))
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_needs_no_web_framework(outcomes: dict[str, str], engine: str) -> None:
    assert outcomes[engine] == "ok"
