"""`make containers-check` on a machine that lacks something: all of it is said, at once and first."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.containers.needs import configuration, missing, unavailable

ROOT = Path(__file__).resolve().parents[2]
NEW_CGROUPS = "sys/fs/cgroup/cgroup.controllers"
SYSTEMD = "run/systemd/system"


def everything(program: str) -> str | None:
    return f"/usr/bin/{program}"


def nothing(program: str) -> str | None:
    return None


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    """The root of a machine with systemd and control groups of the second version."""
    (tmp_path / SYSTEMD).mkdir(parents=True)
    (tmp_path / NEW_CGROUPS).parent.mkdir(parents=True)
    (tmp_path / NEW_CGROUPS).touch()
    return tmp_path


def test_one_command_installs_all_that_is_missing(usual: Path) -> None:
    told = unavailable(usual, nothing, user=0)
    command = told.partition("As root: ")[2]
    assert command.split() == ["apt-get", "install", "--yes", *missing(usual, nothing)]
    assert {"podman", "aardvark-dns", "debootstrap", "iptables"} <= set(command.split())
    assert not missing(usual, everything)


def test_where_crun_cannot_run_runc_is_wanted_and_used(usual: Path) -> None:
    assert "runc" not in missing(usual, nothing)
    assert configuration(usual) == ""
    (usual / NEW_CGROUPS).unlink()
    assert "runc" in missing(usual, nothing)
    assert tomllib.loads(configuration(usual))["engine"] == {"runtime": "runc"}


def test_without_systemd_podman_keeps_to_what_this_process_may(usual: Path) -> None:
    (usual / SYSTEMD).rmdir()
    told = tomllib.loads(configuration(usual))
    assert told["engine"] == {"cgroup_manager": "cgroupfs", "events_logger": "file"}
    assert told["containers"] == {"default_ulimits": []}, "no limit is raised"


def test_a_machine_that_cannot_run_it_fails_before_anything_is_installed(tmp_path: Path) -> None:
    """By the system's own Python, which has none of our packages."""
    bare = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {_RUN}"]
    done = subprocess.run(command, env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "apt-get install --yes podman" in done.stderr
    [recipe] = [line for line in (ROOT / "Makefile").read_text().splitlines() if "containers-check:" in line]
    assert recipe.split()[1:] == ["containers-needs", "$(VENV)/.dev"]


_RUN = "import runpy; runpy.run_module('tests.containers.needs', run_name='__main__')"
