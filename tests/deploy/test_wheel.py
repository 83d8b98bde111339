"""A wheel holds everything that the command needs, under one name, and runs where there is no repository."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from bench.ports import free_ports
from deploy.inventory import APPS
from tests.deploy.compose_file import ROOT, version

FOLDERS = (
    *("language", "chassis", "services", "gateway", "corpus", "evaluation"),
    *("clients", "loreglass_client", "capacity", "training", "samples"),
)
DATA = {
    *(".toml", ".yaml", ".json", ".jsonl", ".jpg", ".npz", ".j2"),
    *(".css", ".html", ".js", ".svg", ".png", ".woff2", ".webmanifest"),
}
PAGE = "<title>Halden lighthouse</title><p>The Halden lighthouse was built in 1874 by Ole Brekke.</p>"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by what the lock has, so without a network."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True
    )
    (built,) = folder.iterdir()
    return built


@dataclass(frozen=True, slots=True)
class Installed:
    """The wheel in a folder of its own, beside packages of the lock; the repository is out of sight."""

    site: Path
    home: Path

    def command(self, *words: str) -> list[str]:
        """The console script. `-S`: no `.pth` file brings the repository in."""
        return [sys.executable, "-S", str(self.site / "bin" / "loreglass"), *words]

    @property
    def environment(self) -> dict[str, str]:
        """A user's, who has nothing of ours set."""
        path = os.pathsep.join([str(self.site), sysconfig.get_path("purelib")])
        return {"PATH": os.defpath, "HOME": str(self.home), "PYTHONPATH": path}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run it in an empty folder, with nothing of the repository on the path."""
        return subprocess.run(
            command, cwd=self.home, env=self.environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """As `pip install --target` puts it."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--target", folder / "site", wheel], check=True)
    (folder / "home").mkdir()
    return Installed(folder / "site", folder / "home")


def names(wheel: Path) -> set[PurePosixPath]:
    with zipfile.ZipFile(wheel) as content:
        return {PurePosixPath(name) for name in content.namelist()}


def test_a_wheel_puts_one_name_into_site_packages(wheel: Path) -> None:
    assert {name.parts[0] for name in names(wheel)} == {"loreglass", f"loreglass-{version()}.dist-info"}


def test_a_wheel_holds_the_data_that_the_code_reads(wheel: Path) -> None:
    packages = PurePosixPath("loreglass/packages")
    read = {
        packages / path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in DATA
        and not {"services", "training"} <= set(path.parts)
        and not {"js", "mentra"} & set(path.parts)
        and path.name != "pyproject.toml"
    }
    assert len(read) > 50
    view = {packages / f"deploy/operator.{kind}" for kind in ("html", "css", "js")}
    held = names(wheel)
    assert read | view | {packages / "deploy/placement/l40s.yaml"} <= held
    assert not {part for name in held for part in name.parts} & {"tests", "bench", "grafana", "__pycache__"}
    assert not [name for name in held if {"services", "training"} <= set(name.parts)]


def test_an_installed_command_has_the_wheels_version_and_every_subcommand(installed: Installed) -> None:
    assert installed.run(*installed.command("--version")).stdout == f"loreglass {version()}\n"
    help_text = installed.run(*installed.command("--help")).stdout
    for name in ("ask", "demo", "serve", "index", "plan", "eval", "train"):
        assert f" {name} " in help_text
    planned = installed.run(*installed.command("plan"))
    assert planned.returncode == 0, planned.stderr


@pytest.fixture
def ports(installed: Installed) -> Iterator[list[int]]:
    """Start `loreglass serve` and yield its ports: the gateway's, then the services' in their order."""
    ports = free_ports(len(APPS))
    settings = {"LOREGLASS_SERVICE_PORT": str(ports[1]), "LOREGLASS_LOG_LEVEL": "warning"}
    process = subprocess.Popen(
        installed.command("serve", "--port", str(ports[0])),
        cwd=installed.home,
        env=installed.environment | settings,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert "Loreglass answers at" in line, line + process.stderr.read()
        yield ports
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stderr.close()


def test_an_installed_platform_indexes_a_page_and_answers_from_it(
    installed: Installed, ports: list[int], tmp_path: Path
) -> None:
    (tmp_path / "lighthouse.html").write_text(PAGE)
    by_port = sorted((app for app in APPS if app.name != "gateway"), key=lambda app: app.port)
    place = [app.name for app in by_port].index("text_search")
    url = f"http://127.0.0.1:{ports[1] + place}"
    indexed = installed.run(*installed.command("index", "pages", str(tmp_path), "--text-search-url", url))
    assert indexed.returncode == 0, indexed.stdout + indexed.stderr
    gateway, question = f"http://127.0.0.1:{ports[0]}", "When was the Halden lighthouse built?"
    reply = installed.run(*installed.command("ask", "--json", "--gateway", gateway, question))
    assert "1874" in json.loads(reply.stdout)["answer"], reply.stdout + reply.stderr
    assert [path.name for path in installed.home.rglob("loreglass/loreglass/text_search/aliases.json")]
    assert not list(installed.site.rglob("aliases.json"))
