"""The reference pages are those that the code makes."""

import pytest

from contracts.answer import Reason
from contracts.errors import ErrorKind
from deploy.reference import FOLDER, PAGES, REASONS, REMEDIES


@pytest.mark.parametrize("name", PAGES)
def test_committed_reference_equals_the_generated_one(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == PAGES[name](), "Run `make reference` and commit the page."


def test_every_reason_and_every_error_is_explained() -> None:
    assert set(REASONS) == set(Reason)
    assert set(REMEDIES) == set(ErrorKind)


def test_every_field_and_setting_is_described() -> None:
    lines = [line for name in PAGES for line in PAGES[name]().splitlines()]
    assert [line for line in lines if line.startswith("| `") and line.endswith(" |  |")] == []
    assert [line for line in lines if line.startswith("* `") and "`: " not in line] == []
