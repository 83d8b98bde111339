"""Images that are pushed: their digests, and what is in them. The engine is a script that keeps a list."""

from pathlib import Path

import pytest
import yaml

from deploy.images.__main__ import main
from deploy.images.catalogue import version

DIGEST, LOCAL = f"sha256:{'12' * 32}", f"sha256:{'00' * 32}"
ENGINE = f"""#!/bin/sh
echo "$@" >> "$CALLS"
case "$1" in
  push)
    [ -z "$REFUSES" ] || exit 125
    [ -z "$TELLS" ] || case "$2" in
      --digestfile=*) printf {DIGEST} > "${{2#--digestfile=}}";;
      *) echo "0.1.0: digest: {DIGEST} size: 1234";;
    esac;;
  inspect) echo "registry.example/loreglass/gateway@{LOCAL}";;
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
    for name, script in (("podman", ENGINE), ("docker", ENGINE), ("cyclonedx-py", SBOM)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(asked))
    monkeypatch.setenv("TELLS", "yes")
    return asked


def publish(out: Path, *more: str, engine: str = "podman") -> None:
    main(["publish", "--engine", engine, "--only", "gateway", "--out", str(out), *more])


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_an_image_is_pushed_and_pinned_by_the_digest_that_its_registry_knows(
    calls: Path, tmp_path: Path, engine: str
) -> None:
    publish(tmp_path / "out", "--to", "registry.example:5000/team", engine=engine)
    target = f"registry.example:5000/team/loreglass/gateway:{version()}"
    tagged, pushed = calls.read_text().splitlines()
    assert tagged == f"tag localhost/loreglass/gateway:{version()} {target}"
    assert pushed.startswith("push ")
    assert pushed.endswith(f" {target}")
    component = yaml.safe_load((tmp_path / "out" / "kustomization.yaml").read_text())
    assert component["kind"] == "Component"
    assert component["images"] == [
        {
            "name": "localhost/loreglass/gateway",
            "newName": "registry.example:5000/team/loreglass/gateway",
            "digest": DIGEST,
        }
    ]
    assert "fastapi==" in (tmp_path / "out" / "gateway.cdx.json").read_text()


def test_a_push_that_is_refused_ends_with_what_was_refused(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSES", "yes")
    with pytest.raises(SystemExit, match=r"This failed: podman push .*registry\.example/loreglass/gateway"):
        publish(tmp_path / "out", "--to", "registry.example")
    assert not (tmp_path / "out" / "kustomization.yaml").exists()


def test_an_image_whose_digest_nobody_tells_is_not_pinned(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TELLS")
    for engine in ("podman", "docker"):
        with pytest.raises(SystemExit, match="does not tell the digest"):
            publish(tmp_path / "out", "--to", "registry.example", engine=engine)


def test_nothing_is_pushed_where_its_contents_cannot_be_told(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "cyclonedx-py").unlink()
    with pytest.raises(SystemExit, match="pip install cyclonedx-bom"):
        publish(tmp_path / "out", "--to", "registry.example")
    assert not calls.exists()


def test_a_registry_must_be_named(calls: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--to registry"):
        publish(tmp_path / "out")
