"""MkDocs hook: builds the site from all Markdown of the repository, with the files that it links to."""

import logging
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"""(?:\]\(|src=")(?!https?:|#|mailto:)([^)#\s"]+)""")
_FOREIGN = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?https?://""")
_log = logging.getLogger("mkdocs.hooks")


def pages(config: MkDocsConfig) -> list[Path]:
    """Return every page of the site, by its path in the repository."""
    patterns = config.extra["pages"]
    return sorted(
        {
            path.relative_to(ROOT)
            for pattern in patterns
            for path in ROOT.glob(pattern)
            if not path.relative_to(ROOT).as_posix().startswith(".")
        }
    )


def _linked(page: Path) -> set[Path]:
    """Return the files that a page links to and that are not pages: pictures and code."""
    links = ((ROOT / page).parent / link for link in _LINK.findall((ROOT / page).read_text("utf-8")))
    files = (link.resolve() for link in links if link.is_file() and link.suffix != ".md")
    return {file.relative_to(ROOT) for file in files}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of `docs` by all pages under their paths in the repository."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    markdown = pages(config)
    for path in {*markdown, *(file for page in markdown for file in _linked(page))}:
        files.append(File.generated(config, path.as_posix(), abs_src_path=str(ROOT / path)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Warn, which fails a strict build, of assets that a browser would load from another server."""
    if match := _FOREIGN.search(output):
        _log.warning("%s loads an asset from another server: %s", page.file.src_uri, match[0])
    return output
