"""The design's rules on what may know what, and proof that each of them can fail."""

import ast
import configparser
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("proto/contracts", "language", "chassis", "services", "gateway", "corpus"),
    *("evaluation", "clients", "loreglass_client", "capacity", "deploy", "training", "bench", "loreglass"),
)
MAX_FUNCTION_LINES = 60

FORBIDDEN_NAMES = {"utils", "common", "helpers", "misc", "proto"}
"""Drawers that collect what belongs elsewhere, and a name that another library owns."""

ILLEGAL_IMPORTS = [
    ("layers", "chassis/resilience/deadlines.py", "services.ocr"),
    ("layers", "proto/contracts/headers.py", "chassis.errors"),
    ("layers", "loreglass_client/__init__.py", "contracts.answer"),
    ("layers", "language/__init__.py", "contracts.answer"),
    ("gateway-services", "gateway/state.py", "services.reranker"),
    ("gateway-reasoners", "gateway/llm/reasoner.py", "gateway.reasoning.lite.question"),
    ("services-alone", "services/reranker/app.py", "gateway.state"),
    ("bare-engines", "services/reranker/engines/cascade.py", "structlog"),
    ("services-independent", "services/reranker/app.py", "services.ocr"),
    ("callers", "corpus/__init__.py", "gateway.state"),
    ("capacity", "capacity/__init__.py", "services.reranker"),
    ("layers", "gateway/state.py", "capacity"),
    ("independent-judge", "evaluation/__init__.py", "language"),
    ("independent-corpus", "corpus/__init__.py", "evaluation"),
    ("top", "services/__init__.py", "tests"),
    ("chassis-words", "chassis/errors.py", "contracts.answer"),
    ("chassis-layers", "chassis/resilience/__init__.py", "chassis.http.app"),
    ("gateway-layers", "gateway/steps/__init__.py", "gateway.pipelines"),
    ("gateway-layers", "gateway/clients/__init__.py", "gateway.reasoning"),
    ("gateway-ports", "gateway/steps/__init__.py", "gateway.serving.stores"),
    ("evaluation-layers", "evaluation/scoring/__init__.py", "evaluation.runs.store"),
    ("training-layers", "training/samples.py", "training.runs"),
    ("gateway-web", "gateway/state.py", "fastapi"),
    ("engines", "services/reranker/engines/__init__.py", "pydantic"),
    ("engines", "services/reranker/engine.py", "starlette"),
]


def _lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "lint-imports"
    search_path = os.pathsep.join([str(root), str(root / "proto")])
    return subprocess.run(
        [str(program), "--no-logo", "--no-cache", "--config", str(ROOT / ".importlinter")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the linter says of each contract when every illegal import is there at once."""
    root = tmp_path_factory.mktemp("sources")
    for file in _python_files():
        copy = root / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    for _, name, imported in ILLEGAL_IMPORTS:
        with (root / name).open("a") as source:
            source.write(f"\nimport {imported}\n")
    output = " ".join(_lint_imports(root).stdout.partition("Broken contracts")[2].split())
    names = _contracts()
    parts = re.split("|".join(f"({re.escape(name)}) -{{9,}}" for name in names.values()), output)
    options = [part for part in parts if part is not None][1:]
    by_name = dict(zip(options[::2], options[1::2], strict=True))
    return {contract: by_name.get(name, "") for contract, name in names.items()}


def _contracts() -> dict[str, str]:
    configuration = configparser.ConfigParser()
    configuration.read(ROOT / ".importlinter")
    prefix = "importlinter:contract:"
    return {
        section.removeprefix(prefix): configuration[section]["name"]
        for section in configuration.sections()
        if section.startswith(prefix)
    }


def test_import_contracts_hold() -> None:
    linted = _lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize(("contract", "file", "imported"), ILLEGAL_IMPORTS)
def test_forbidden_import_is_detected(
    broken: dict[str, str], contract: str, file: str, imported: str
) -> None:
    module = file.removeprefix("proto/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    refused = rf"to import {imported.partition('.')[0]}[\w.]*: [^:]*{re.escape(f'{module} -> {imported} ')}"
    assert re.search(refused, broken[contract])


def test_every_import_contract_can_be_broken() -> None:
    assert set(_contracts()) == {contract for contract, _, _ in ILLEGAL_IMPORTS}


def test_environment_is_read_only_by_settings_modules() -> None:
    readers = {
        str(file.relative_to(ROOT))
        for file in _python_files()
        for node in ast.walk(_tree(file))
        if file.name != "settings.py" and _reads_environment(node)
    }
    # A container's first process has the standard library alone. transformers is told its folder of logs so.
    assert readers == {"deploy/images/app.py", "training/trainers.py"}


def test_no_module_has_a_catch_all_name() -> None:
    drawers = [
        str(file.relative_to(ROOT))
        for file in _python_files()
        if FORBIDDEN_NAMES & {file.stem, *file.relative_to(ROOT / _root_of(file)).parts}
    ]
    assert drawers == []


def test_functions_are_short_enough_to_read() -> None:
    long = {
        f"{file.relative_to(ROOT)}:{node.name}": lines
        for file in _python_files()
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert long == {}


def _python_files() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


def _root_of(file: Path) -> str:
    return "proto" if file.is_relative_to(ROOT / "proto") else "."


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), str(file))


def _reads_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv"}
    if isinstance(node, ast.Attribute):
        return node.attr in names and isinstance(node.value, ast.Name) and node.value.id == "os"
    return (
        isinstance(node, ast.ImportFrom) and node.module == "os" and any(a.name in names for a in node.names)
    )
