"""What is installed is what was locked, on every Python that the project is for; what a release may do."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.compose_file import ROOT, read_env, version

PYTHONS = ("python3.13", "python3.12", "python3.11", "python3")


def make_dry_run(folder: Path, running: Iterable[str], *variables: str) -> subprocess.CompletedProcess[str]:
    """What make would do where only these programs run; other Pythons are there and fail, as pyenv's do."""
    for name in {*PYTHONS, *running}:
        (folder / name).write_text(f"#!/bin/sh\nexit {0 if name in running else 127}\n")
        (folder / name).chmod(0o755)
    target, path = folder / "venv", {"PATH": f"{folder}{os.pathsep}{os.defpath}"}
    command = ["make", "--dry-run", f"VENV={target}", *variables, f"{target}/.pocket"]
    return subprocess.run(command, cwd=ROOT, env=path, capture_output=True, text=True, check=False)


def test_make_uses_the_newest_supported_python(
    tmp_path: Path,
) -> None:
    for place, newest in enumerate(PYTHONS):
        assert f"|| {newest} -m venv" in make_dry_run(tmp_path, PYTHONS[place:], "UV=").stdout
    outcome = make_dry_run(tmp_path, ())
    assert outcome.returncode != 0
    assert "Python 3.11, 3.12 or 3.13" in outcome.stderr


def test_make_installs_with_uv_if_available_and_not_disabled(tmp_path: Path) -> None:
    with_uv = ("python3.11", "uv")
    commands = make_dry_run(tmp_path, with_uv).stdout
    assert f"|| {tmp_path}/uv venv " in commands
    assert f"{tmp_path}/uv pip install --python" in commands
    assert "-m pip install" not in commands
    assert "python -m pip install" in make_dry_run(tmp_path, with_uv, "UV=").stdout


@pytest.mark.parametrize("lock", ["pocket", "measure", "dev", "models"])
def test_a_lock_has_one_version_of_a_package_for_every_python(lock: str) -> None:
    """What differs by Python or machine is whether it is installed, never which version."""
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()
    counted = Counter(line.partition("==")[0] for line in lines)
    assert counted.most_common(1)[0][1] == 1


def test_the_client_the_citation_and_the_images_name_the_version() -> None:
    client = tomllib.loads((ROOT / "loreglass_client/pyproject.toml").read_text())
    assert client["project"]["version"] == version()
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version()
    assert json.loads((ROOT / "clients/js/package.json").read_text())["version"] == version()
    chart = yaml.safe_load((ROOT / "k8s/helm/loreglass/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version()
    assert read_env(ROOT / ".env")["LOREGLASS_VERSION"] == version()
    assert f'"LOREGLASS_VERSION" {{ default = "{version()}" }}' in (ROOT / "docker-bake.hcl").read_text()


LOCKS = [
    path
    for path in (*(ROOT / "requirements").glob("*.txt"), *(ROOT / "requirements/images").glob("*.txt"))
    if path.name != "hashes.txt"
]


def script(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script of `requirements/` without site-packages, as before the first installation."""
    command = [sys.executable, "-S", ROOT / "requirements" / name, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_locked_package_is_installed_by_its_hash(lock: Path) -> None:
    output = script("hashed.py", lock).stdout.splitlines()
    locked = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    assert [line.partition(" --hash=")[0] for line in output] == locked
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}(?: |$)", line) for line in output)


def test_a_package_without_a_hash_stops_the_install(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("unlisted==1.0\n")
    result = script("hashed.py", tmp_path / "new.txt")
    assert result.returncode == 1
    assert result.stderr == "unlisted==1.0 has no hash in requirements/hashes.txt: make lock writes it.\n"


def test_packages_except_torch_are_installed_by_hash() -> None:
    texts = {name: (ROOT / name).read_text() for name in ("Makefile", "deploy/images/Dockerfile")}
    reading = re.compile(r"(?:-r|--requirement) \S+")
    for name, text in texts.items():
        lines = re.sub(r"\\\n\s*", " ", text).splitlines()
        installs = [line for line in lines if reading.search(line) and "$(AUDIT)" not in line]
        assert all("--require-hashes" in line for line in installs), name


def test_parallel_targets_use_separate_requirement_lists(tmp_path: Path) -> None:
    targets = [str(tmp_path / name) for name in (".measure", ".models")]
    command = ["make", "--dry-run", f"VENV={tmp_path}", f"PYTHON={sys.executable}", *targets]
    commands = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lists = re.findall(r"requirements/hashed\.py .* > (\S+)", commands)
    assert sorted(lists) == [
        str(tmp_path / f".{name}.txt") for name in ("dev", "measure", "models", "photographs", "pocket")
    ]
    assert re.findall(r"--require-hashes -r (\S+)", commands) == lists


def test_secrets_are_excluded_from_the_image_build_context() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"**/secrets", "**/.env", "**/*.key", "**/*.pem"} <= set(ignored)
    assert max(map(ignored.index, ("**/secrets", "**/.env"))) > ignored.index("!deploy")


LOCKED_TORCH = re.findall(
    r"^torch==(\S+) .*?sha256:(\S+)", (ROOT / "requirements/hashes.txt").read_text(), re.MULTILINE
)[0]


@pytest.mark.parametrize(
    ("version", "sha256", "accepted"),
    [
        (*LOCKED_TORCH, True),
        (LOCKED_TORCH[0], "0" * 64, False),
        (f"{LOCKED_TORCH[0]}+cpu", "0" * 64, True),  # PyPI takes no local versions: the user named this index
    ],
)
def test_a_wheel_of_torch_from_pypi_must_be_the_locked_one(
    tmp_path: Path, version: str, sha256: str, accepted: bool
) -> None:
    download = {"download_info": {"archive_info": {"hashes": {"sha256": sha256}}}}
    report = {"install": [{"metadata": {"name": "torch", "version": version}, **download}]}
    (tmp_path / "torch.json").write_text(json.dumps(report))
    result = script("torch_files.py", tmp_path / "torch.json")
    assert (result.returncode == 0) is accepted, result.stderr


WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text()
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]


def test_a_release_runs_pinned_actions_and_no_expression_in_a_shell() -> None:
    uses = re.findall(r"uses: (\S+)", WORKFLOW)
    assert uses
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in uses)
    assert all("==" in each or "$UV_SPEC" in each for each in re.findall(r"pipx run (.*)", WORKFLOW))
    for job in JOBS.values():
        assert not [step["run"] for step in job["steps"] if "${{" in step.get("run", "")]


def test_publish_job_alone_has_an_identity_and_runs_no_built_code() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {}
    assert [name for name, job in JOBS.items() if "id-token" in job["permissions"]] == ["publish"]
    assert [name for name, job in JOBS.items() if job["permissions"].get("contents") == "write"] == []
    assert not any("checkout" in step.get("uses", "") for step in JOBS["publish"]["steps"])
