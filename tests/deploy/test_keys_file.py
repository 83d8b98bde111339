"""A keys file is changed in place, and left alone where its layout is not understood."""

from pathlib import Path

import pytest

from chassis.errors import CollectionConflict, DependencyUnavailable, NotFound
from chassis.keys import ApiKey
from clients.keys import entry
from deploy.keys_file import KeysFileEditor
from gateway.state import Priority

FIRST, SECOND = ApiKey.new(), ApiKey.new()


def test_other_keys_notes_and_tenants_stay(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    notes = '# who: [us]\n[[tenant]]\nname = "acme"  # [[key]]\nin_flight = 2\n\n'
    file.write_text(
        f"{notes}{entry(FIRST, 'acme', 'standard')}\n# the second\n{entry(SECOND, 'b', 'standard')}"
    )
    editor = KeysFileEditor(file)
    third = editor.add("c", Priority.BACKGROUND, operator=True)
    editor.revoke(SECOND.prefix)
    assert [(each.prefix, each.operator) for each in editor.entries()] == [
        (FIRST.prefix, False),
        (third.prefix, True),
    ]
    assert file.read_text().startswith(notes)


def test_file_that_was_empty_takes_a_key(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("")
    made = KeysFileEditor(file).add("a", Priority.STANDARD, operator=False)
    assert [each.sha256 for each in KeysFileEditor(file).entries()] == [made.sha256]


def test_inline_layout_is_left_to_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    keys = [", ".join(entry(each, "a", "standard").splitlines()[1:]) for each in (FIRST, SECOND)]
    file.write_text(f"key = [{{{keys[0]}}}, {{{keys[1]}}}]\n")
    before = file.read_text()
    with pytest.raises(CollectionConflict):
        KeysFileEditor(file).revoke(FIRST.prefix)
    with pytest.raises(CollectionConflict):
        KeysFileEditor(file).add("b", Priority.STANDARD, operator=False)
    assert file.read_text() == before


def test_unknown_key_or_unreadable_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("")
    with pytest.raises(NotFound):
        KeysFileEditor(file).revoke(FIRST.prefix)
    file.write_text("[[key]]\nprefix = 3\n")
    with pytest.raises(DependencyUnavailable):
        KeysFileEditor(file).entries()
