"""What is installed is what was locked, byte for byte."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [
    path
    for path in (*(ROOT / "requirements").glob("*.txt"), *(ROOT / "requirements/images").glob("*.txt"))
    if path.name != "hashes.txt"
]
HASHED = ROOT / "requirements/hashed.py"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_locked_package_is_installed_by_its_hash(lock: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HASHED), str(lock)], capture_output=True, text=True, check=True
    )
    asked = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    given = done.stdout.splitlines()
    assert [line.partition(" --hash=")[0] for line in given] == asked
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}(?: |$)", line) for line in given)


def test_a_package_without_a_hash_stops_the_install(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("stranger==1.0\n")
    command = [sys.executable, str(HASHED), str(tmp_path / "new.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "stranger==1.0 has no hash in requirements/hashes.txt: make lock writes it.\n"


def test_nothing_is_installed_without_its_hash_but_torch() -> None:
    texts = {name: (ROOT / name).read_text() for name in ("Makefile", "deploy/images/Dockerfile")}
    reading = re.compile(r"(?:-r|--requirement) \S+")
    for name, text in texts.items():
        lines = re.sub(r"\\\n\s*", " ", text).splitlines()
        installs = [line for line in lines if reading.search(line) and "$(AUDIT)" not in line]
        assert all("--require-hashes" in line for line in installs), name


def test_targets_that_are_made_at_once_do_not_share_the_list_of_what_they_install(tmp_path: Path) -> None:
    targets = [str(tmp_path / name) for name in (".measure", ".models")]
    command = ["make", "--dry-run", f"VENV={tmp_path}", f"PYTHON={sys.executable}", *targets]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    written = re.findall(r"requirements/hashed\.py .* > (\S+)", told)
    assert sorted(written) == [
        str(tmp_path / f".{name}.txt") for name in ("dev", "measure", "models", "photographs", "pocket")
    ]
    assert re.findall(r"--require-hashes -r (\S+)", told) == written


def test_secrets_are_not_sent_to_who_builds_images() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"**/secrets", "**/.env", "**/*.key", "**/*.pem"} <= set(ignored)
    assert max(map(ignored.index, ("**/secrets", "**/.env"))) > ignored.index("!deploy")


def _report(version: str, sha256: str) -> str:
    file = {"metadata": {"name": "torch", "version": version}}
    return json.dumps(
        {"install": [{**file, "download_info": {"archive_info": {"hashes": {"sha256": sha256}}}}]}
    )


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
    (tmp_path / "torch.json").write_text(_report(version, sha256))
    command = [sys.executable, "-S", str(ROOT / "requirements/torch_files.py"), str(tmp_path / "torch.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is accepted, done.stderr
