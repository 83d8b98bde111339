"""Images that are pushed: their digests, and what is in them. The engine is a script that keeps a list."""

from pathlib import Path

import pytest
import yaml

from deploy.images.__main__ import main
from deploy.images.catalogue import version

ENGINE = """#!/bin/sh
echo "$@" >> "{calls}"
case "$1" in
  push) [ -z "$REFUSES" ] || exit 125;;
  inspect)
    echo "localhost/loreglass/gateway@sha256:0000"
    echo "registry.example:5000/team/loreglass/$NAME@sha256:1234";;
esac
"""
SBOM = """#!/bin/sh
cp "$2" "$4"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the engine was asked, a line each; SBOMs are copies of locks here."""
    programs, asked = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    for name, script in (("engine", ENGINE.format(calls=asked)), ("cyclonedx-py", SBOM)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("NAME", "gateway")
    return asked


def publish(out: Path, *more: str) -> None:
    main(["publish", "--engine", "engine", "--only", "gateway", "--out", str(out), *more])


def test_an_image_is_pushed_and_pinned_by_the_digest_that_its_registry_knows(
    calls: Path, tmp_path: Path
) -> None:
    publish(tmp_path / "out", "--to", "registry.example:5000/team")
    target = f"registry.example:5000/team/loreglass/gateway:{version()}"
    tagged, pushed, _ = calls.read_text().splitlines()
    assert tagged == f"tag localhost/loreglass/gateway:{version()} {target}"
    assert pushed == f"push {target}"
    component = yaml.safe_load((tmp_path / "out" / "kustomization.yaml").read_text())
    assert component["kind"] == "Component"
    assert component["images"] == [
        {
            "name": "localhost/loreglass/gateway",
            "newName": "registry.example:5000/team/loreglass/gateway",
            "digest": "sha256:1234",
        }
    ]
    assert "fastapi==" in (tmp_path / "out" / "gateway.cdx.json").read_text()


def test_a_push_that_is_refused_ends_with_what_was_refused(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSES", "yes")
    with pytest.raises(SystemExit, match=r"This failed: engine push registry\.example/loreglass/gateway"):
        publish(tmp_path / "out", "--to", "registry.example")
    assert not (tmp_path / "out" / "kustomization.yaml").exists()


def test_a_digest_that_is_of_another_registry_is_not_taken(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", "verifier")
    with pytest.raises(SystemExit, match="does not tell the digest"):
        publish(tmp_path / "out", "--to", "registry.example:5000/team")


def test_nothing_is_pushed_where_its_contents_cannot_be_told(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "cyclonedx-py").unlink()
    with pytest.raises(SystemExit, match="pip install cyclonedx-bom"):
        publish(tmp_path / "out", "--to", "registry.example")
    assert not calls.exists()


def test_a_registry_must_be_named(calls: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--to registry"):
        publish(tmp_path / "out")
