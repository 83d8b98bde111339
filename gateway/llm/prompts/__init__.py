"""Prompts as data: one TOML file each, words and worked cases, read once when first needed."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

_SLOT = re.compile(r"(?<!<)<<([a-z_]+)>>(?!>)")  # three brackets delimit material


@dataclass(frozen=True, slots=True)
class Case:
    """A worked example: what the photo shows in words, the question, what came before, the reply's fields."""

    photo: str
    question: str
    reply: Mapping[str, Any]
    given: str = ""


@dataclass(frozen=True, slots=True)
class PromptText:
    """`text` has named slots `<<like_this>>`; `advice` and `cases` go into slots of their own."""

    text: str = ""
    advice: str = ""
    cases: tuple[Case, ...] = field(default=())

    @property
    def slots(self) -> frozenset[str]:
        """The names that `fill` needs."""
        return frozenset(_SLOT.findall(self.text))

    def fill(self, **values: str) -> str:
        """The text with every slot filled, in one pass: what a value contains is never a slot itself."""
        if values.keys() != self.slots:
            raise ValueError(f"the prompt has the slots {sorted(self.slots)}, given were {sorted(values)}")
        return _SLOT.sub(lambda slot: values[slot.group(1)], self.text)


@lru_cache(maxsize=64)
def prompt_text(name: str) -> PromptText:
    """The prompt in `<name>.toml` beside this file, or `three_step/sample_query` beside that pipeline."""
    pipeline, _, of_pipeline = name.partition("/")
    folder = files("gateway.pipelines") / pipeline / "prompts" if of_pipeline else files(__name__)
    file = folder / f"{of_pipeline or name}.toml"
    content = tomllib.loads(file.read_text("utf-8"))
    cases = tuple(Case(**case) for case in content.get("cases", ()))
    return PromptText(content.get("text", "").strip(), content.get("advice", "").strip(), cases)


def short_name(name: str) -> str:
    """What a prompt is called in metrics and in a request's schema: the name without its pipeline's."""
    return name.rpartition("/")[2]
