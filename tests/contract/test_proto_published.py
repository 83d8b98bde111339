"""The published contracts are linted, formatted and never broken for those who already call us."""

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
