"""The client as it goes out: built, installed without the platform, typed, and asking a gateway that runs."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from tests.deploy.compose_file import ROOT, version
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.clients.test_client import follow, photo

SOURCE = ROOT / "loreglass_client"
NEEDED = (
    *("httpx", "httpcore", "h11", "certifi", "idna", "anyio", "sniffio"),
    *("pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions.py"),
)
"""What the declared dependencies come to, as they lie in site-packages."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sources, as `python -m build` makes them, by what the lock has: so without a network."""
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=SOURCE, check=True)
    return folder


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the client, what it declares, and nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--target", site, *built.glob("*.whl")], check=True)
    here = Path(sysconfig.get_path("purelib"))
    for name in NEEDED:
        if (here / name).exists():  # sniffio is no longer everywhere
            (site / name).symlink_to(here / name)
    for metadata in here.glob("pydantic*.dist-info"):
        (site / metadata.name).symlink_to(metadata)
    return folder / "bin" / "python"


def test_client_wheel_contains_only_code_types_and_licence(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        description = content.read(f"loreglass_client-{version()}.dist-info/METADATA").decode()
    modules = {
        f"loreglass_client/{name}" for name in ("py.typed", *(each.name for each in SOURCE.glob("*.py")))
    }
    about = ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")
    assert names == modules | {f"loreglass_client-{version()}.dist-info/{name}" for name in about}
    assert (SOURCE / "README.md").read_text() in description
    assert (SOURCE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def readme_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (SOURCE / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", readme_blocks())
def test_readme_examples_compile(block: str) -> None:
    compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_first_readme_example_gets_an_answer(python: Path, tmp_path: Path) -> None:
    (tmp_path / "tower.jpg").write_bytes(photo())
    gateway = scripted_gateway(ScriptedPipeline(follow))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(gateway) as url:
        program = readme_blocks()[0].replace("http://127.0.0.1:7100", url)
        done = subprocess.run(
            [python, "-c", program], cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, check=False
        )
    assert done.stdout == b"turn 1\nA page u quoted\n", done.stderr
