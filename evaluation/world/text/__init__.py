"""All words that a world is told and asked in. Dev, test and wild share none; sample speaks as dev does.

A folder a split: `questions.toml`, how a wearer asks; `registers/*.toml`, the kinds of writing that pages are
in; `elsewhere.toml`, pages that are not about one thing. `answers.toml`, gold answers, is of all splits:
they are for the judge, and no system sees them. In templates `{v}` is the value and `{a}` its article, a or
an; `{s}` is the subject and `{p}` its possessive on pages; how questions refer, `Reference` says. A page's
template without a subject, such as "Publisher: {v}", is a row of a table or list.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from evaluation.world.plan import Split

Templates = tuple[str, ...]
ByAttribute = Mapping[str, Templates]
ByKind = Mapping[str, ByAttribute]

_FOLDER = Path(__file__).parent


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Register(_Words):
    """One kind of writing. `rows` is the share of facts that stand in a table or list, where they can.

    `titles` are of a thing's main page, `reviews` of further ones; `openings`, `links` and `remarks` state no
    fact: they begin a page, lead into a sentence, stand between sentences. Above a paragraph there is the
    writer, one of the `voices`, or sometimes one of the `headings`. `own_site` is the name of a thing's own
    site; `always_named`: no sentence refers back to the thing by less than its name.
    """

    sites: Templates
    titles: Templates
    reviews: Templates
    openings: Templates
    links: Templates
    remarks: ByAttribute
    pages: ByKind
    rows: float
    always_named: bool = False
    own_site: str = ""
    headings: Templates = ()
    voices: Templates = ()

    def rows_of(self, kind: str, attribute: str) -> Templates:
        """The templates that are rows."""
        return tuple(each for each in self.pages[kind][attribute] if is_row(each))

    def sentences_of(self, kind: str, attribute: str) -> Templates:
        """The templates that are sentences."""
        return tuple(each for each in self.pages[kind][attribute] if not is_row(each))


class Text(_Words):
    """A page's title and its sentences or paragraphs."""

    title: str
    texts: Templates


class Elsewhere(_Words):
    """Pages of shops, of general rules, about nothing that is asked; and titles of old and recent news."""

    price_titles: Templates
    price_intros: Templates
    price_headings: tuple[str, str]
    offers: Templates
    works: ByAttribute
    old_sites: Templates
    old_titles: Templates
    news_titles: Templates
    rules: tuple[Text, ...]
    rule_sites: Templates
    topics: tuple[Text, ...]
    verbs: Templates
    objects: Templates


class Questions(_Words):
    """How a wearer asks.

    `deictic` points at a thing, `brief` does so again later in a conversation, `shown` is what is shown on
    it, `relations` who stands behind it. `attributes` ask for one fact, `compared` for the greater of two,
    `composed` for what is put together from several.
    """

    deictic: ByAttribute
    brief: Mapping[str, str]
    shown: ByAttribute
    relations: ByKind
    leads: Templates
    shifts: Templates
    attributes: ByKind
    compared: ByKind
    composed: ByAttribute


class Words(_Words):
    """Everything that one split says."""

    questions: Questions
    registers: Mapping[str, Register]
    elsewhere: Elsewhere


class _Answers(_Words):
    answers: ByKind


_Model = TypeVar("_Model", bound=_Words)


def is_row(template: str) -> bool:
    """Whether a page's template is a row of a table or list: a label, and what is said under it."""
    return ": " in template and "{s}" not in template and "{p}" not in template


def _read(model: type[_Model], path: Path) -> _Model:
    return model.model_validate(tomllib.loads(path.read_text("utf-8")))


@cache
def words_of(split: Split) -> Words:
    """The split's words. Raises `ValueError` where a file lacks a part or has an unknown one."""
    folder = _FOLDER / (Split.DEV if split is Split.SAMPLE else split)
    return Words(
        questions=_read(Questions, folder / "questions.toml"),
        registers={
            path.stem: _read(Register, path) for path in sorted((folder / "registers").glob("*.toml"))
        },
        elsewhere=_read(Elsewhere, folder / "elsewhere.toml"),
    )


@cache
def gold_answers() -> ByKind:
    """Full-sentence answers by kind and attribute, with `{name}`, `{v}` and `{a}`."""
    return _read(_Answers, _FOLDER / "answers.toml").answers


def article(value: str) -> str:
    """The indefinite article before the value, by its first letter."""
    return "an" if value[:1].lower() in "aeio" else "a"
