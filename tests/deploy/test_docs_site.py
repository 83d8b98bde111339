"""The documentation site has every page; `make docs` also checks its links."""

from typing import Any

import yaml

from tests.deploy.compose_file import ROOT

CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def pages_below(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for each in below for page in pages_below(each)]


def test_the_navigation_has_every_page_once() -> None:
    found = {path for pattern in CONFIG["extra"]["pages"] for path in ROOT.glob(pattern)}
    pages = sorted(path.relative_to(ROOT).as_posix() for path in found)
    assert sorted(pages_below(CONFIG["nav"])) == pages
