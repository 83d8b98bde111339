"""What `make` installs with, and that one lock serves every Python that the project is for."""

import json
import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tests.deploy.compose_file import ROOT, read_env, version

PYTHONS = ("python3.13", "python3.12", "python3.11", "python3")
LOCKS = ("pocket", "measure", "dev", "models")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def told_by_make(folder: Path, running: Iterable[str], *variables: str) -> subprocess.CompletedProcess[str]:
    """What make would do where only these programs run; other Pythons are there and fail, as pyenv's do."""
    for name in {*PYTHONS, *running}:
        (folder / name).write_text(f"#!/bin/sh\nexit {0 if name in running else 127}\n")
        (folder / name).chmod(0o755)
    target = folder / "venv"
    return subprocess.run(
        ["make", "--dry-run", f"VENV={target}", *variables, f"{target}/.pocket"],
        cwd=ROOT,
        env={"PATH": f"{folder}{os.pathsep}{os.defpath}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("running", "taken"),
    [
        (PYTHONS, "python3.13"),
        (("python3.12", "python3.11", "python3"), "python3.12"),
        (("python3.11", "python3"), "python3.11"),
        (("python3",), "python3"),
    ],
)
def test_make_takes_the_newest_python_that_runs(tmp_path: Path, running: tuple[str, ...], taken: str) -> None:
    assert f"|| {taken} -m venv" in told_by_make(tmp_path, running, "UV=").stdout


def test_where_no_python_will_do_make_says_which_would(tmp_path: Path) -> None:
    told = told_by_make(tmp_path, ())
    assert told.returncode != 0
    assert "Python 3.11, 3.12 or 3.13" in told.stderr


def test_make_installs_with_uv_where_it_is_there_unless_told_not_to(tmp_path: Path) -> None:
    with_uv = ("python3.11", "uv")
    told = told_by_make(tmp_path, with_uv).stdout
    assert f"|| {tmp_path}/uv venv " in told
    assert f"{tmp_path}/uv pip install --python" in told
    assert "-m pip install" not in told
    assert "python -m pip install" in told_by_make(tmp_path, with_uv, "UV=").stdout


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_one_version_of_a_package_for_every_python(lock: str) -> None:
    """What differs by Python or machine is whether it is installed, never which version."""
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()
    counted = Counter(line.partition("==")[0] for line in lines)
    assert counted.most_common(1)[0][1] == 1


def test_the_pythons_that_are_named_are_those_that_are_let_in() -> None:
    first, end = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    minors = range(int(first), int(end))
    assert PROJECT["classifiers"] == [f"Programming Language :: Python :: 3.{minor}" for minor in minors]
    assert (*(f"python3.{minor}" for minor in reversed(minors)), "python3") == PYTHONS


def test_the_citation_and_the_images_name_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version()
    assert json.loads((ROOT / "clients/js/package.json").read_text())["version"] == version()
    chart = yaml.safe_load((ROOT / "k8s/helm/loreglass/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version()
    assert read_env(ROOT / ".env")["LOREGLASS_VERSION"] == version()
    assert f'"LOREGLASS_VERSION" {{ default = "{version()}" }}' in (ROOT / "docker-bake.hcl").read_text()
