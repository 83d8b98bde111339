"""The published contracts are linted, formatted and never broken for those who already call us."""

import shutil
from pathlib import Path

import pytest

from tests.contract.buf_tool import PROTO, PUBLISHED, buf


def test_the_proto_files_pass_buf_lint() -> None:
    linted = buf("lint", str(PROTO))
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_proto_files_are_formatted() -> None:
    formatted = buf("format", str(PROTO), "--diff", "--exit-code")
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr


def test_the_proto_files_break_nothing_that_was_published() -> None:
    compared = buf("breaking", str(PROTO), "--against", str(PUBLISHED))
    assert compared.returncode == 0, compared.stdout + compared.stderr


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("ocr.proto", "string text = 1;", "bytes text = 1;"),
        ("ocr.proto", "double score = 2;", "double certainty = 2;"),
        ("ocr.proto", "int32 height = 3;", ""),
        ("answer.proto", "REASON_TIMED_OUT = 5;", "REASON_TOO_LATE = 5;"),
        ("reranker.proto", "optional string entity = 6;", "string entity = 6;"),
    ],
    ids=["retyped", "renamed", "removed", "enum value renamed", "no longer optional"],
)
def test_a_change_that_would_break_callers_is_noticed(tmp_path: Path, file: str, old: str, new: str) -> None:
    shutil.copytree(PROTO / "loreglass", tmp_path / "loreglass")
    shutil.copy(PROTO / "buf.yaml", tmp_path)
    changed = tmp_path / "loreglass" / "v1" / file
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))
    assert buf("breaking", str(tmp_path), "--against", str(PUBLISHED)).returncode != 0
