"""The frozen sample is what its manifest says."""

import hashlib
import json

from deploy.photographs import PAGES
from deploy.settings import SAMPLE
from evaluation.data.opening import open_dataset


def test_each_file_has_the_size_and_hash_of_the_manifest() -> None:
    listed = json.loads((SAMPLE / "manifest.json").read_text("utf-8"))["files"]
    drawn = (path for path in SAMPLE.rglob("*") if path.is_file() and PAGES.parent not in path.parents)
    results = {path.relative_to(SAMPLE).as_posix(): path for path in drawn}
    assert set(results) - {"manifest.json", "README.md"} == set(listed)
    for name, expected in listed.items():
        content = results[name].read_bytes()
        assert {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} == expected, name


def test_sample_has_every_kind_of_question() -> None:
    sample = open_dataset(str(SAMPLE))
    assert not sample.rejected
    turns = [turn for each in sample.conversations for turn in each.turns]
    assert {turn.needs for turn in turns if turn.answerable} >= {"photo", "image_kb", "web", "history"}
    assert sum(not turn.answerable for turn in turns) >= 5
