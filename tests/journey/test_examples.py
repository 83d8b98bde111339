"""The programs in docs/examples run against a real platform without a model server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.page.sample import WORDS, served
from tests.speech_servers import spoken_by_espeak

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A platform with the sample and speech servers, that has time on a busy machine."""
    deadline = {"LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS": "60000"}
    with patch.dict(os.environ, deadline), served(tmp_path_factory.mktemp("platform")) as address:
        yield address


def run(url: str, *command: str) -> str:
    """What an example prints."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"LOREGLASS_GATEWAY_URL": url, "PYTHONPATH": paths}
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("python_client.py", ["published? Published: 2001.", "    from The Restless Candle: "]),
        ("streaming.py", ["answer done after", "This is The Restless Candle.", "Published: 2001."]),
        ("openai_client.py", ["Published: 2001.", "    from The Restless Candle"]),
        ("index_by_api.py", ["added", "1784", "['Aldren Mill']"]),
    ],
)
def test_example_prints_the_answer(url: str, name: str, lines: list[str]) -> None:
    printed = run(url, sys.executable, str(EXAMPLES / name))
    assert [line for line in lines if line not in printed] == [], printed


def test_example_with_curl_continues_the_conversation(url: str) -> None:
    first, second = run(url, "sh", str(EXAMPLES / "ask.sh")).replace("}{", "}\n{").strip().splitlines()
    assert json.loads(first)["answer"] == "Published: 2001."
    assert json.loads(second)["session_id"] == json.loads(first)["session_id"]


def test_voice_example_transcribes_and_speaks(url: str, tmp_path: Path) -> None:
    question, sound = tmp_path / "question.wav", tmp_path / "answer.wav"
    question.write_bytes(spoken_by_espeak(WORDS))
    assert "Understood: " in run(url, sys.executable, str(EXAMPLES / "voice.py"), str(question), str(sound))
    assert sound.stat().st_size > 1_000


def test_every_cell_of_the_notebook_runs(url: str, tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text("utf-8"))["cells"]
    program = tmp_path / "notebook.py"
    program.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    printed = run(url, sys.executable, str(program))
    assert "Published: 2001." in printed
    assert "total" in printed


def test_every_example_is_run_and_explained() -> None:
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".sh", ".ipynb")}
    explained, tests = (EXAMPLES / "README.md").read_text("utf-8"), Path(__file__).read_text("utf-8")
    assert [name for name in names if f"[{name}]({name})" not in explained or f'"{name}"' not in tests] == []
