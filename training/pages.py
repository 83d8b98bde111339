"""Pages for people, each one file without scripts: samples to look at, and what a training came to.

Whatever others wrote is shown as text and nothing else. Needs Jinja2.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluation.reporting import pages as evaluation_pages
from evaluation.reporting.photos import NoPhoto, small_photo
from evaluation.reporting.text import LONG, plural, short, shown

_MOST_LINES = 400
_TEMPLATES = (
    Path(__file__).with_name("templates"),
    Path(evaluation_pages.__file__).with_name("templates"),
)


def page(template: str, values: Mapping[str, Any]) -> str:
    """The page. `values` are escaped and stripped of what hides or turns text, unless they are markup."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else shown(str(value), 6 * LONG),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "lines": lines, "share": share, "number": number}
    environment.globals |= {"plural": plural}
    return environment.get_template(template).render(values) + "\n"


def photo(folder: Path, name: str) -> Markup:
    """The photo inside the page, or why there is none."""
    try:
        data = base64.b64encode(small_photo(folder, name)).decode("ascii")
    except NoPhoto as error:
        return Markup('<p class="nophoto">{}</p>').format(str(error))
    return Markup('<img src="data:image/jpeg;base64,{}" alt="The sample\'s photo">').format(data)


def lines(text: str) -> Markup:
    """The text with its line feeds, at most so many lines of it."""
    kept = [shown(line, LONG) for line in text.splitlines()]
    more = [f"… ({len(kept):,} lines)"] if len(kept) > _MOST_LINES else []
    return Markup("\n").join([*kept[:_MOST_LINES], *more])


def share(value: float | None) -> str:
    """In per cent; a dash where there is none."""
    return "–" if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """To three places; a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"
