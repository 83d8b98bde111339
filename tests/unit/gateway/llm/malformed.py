"""Replies as models without a grammar spell them: good ones, and what operators of ours make of them.

    python -m tests.unit.gateway.llm.malformed       # how many are read rightly, in part, wrongly, or refused

The operators and their order come from a seed. Read "in part": what is read is right, and some of it is
missing, which counts as not said. Read "wrongly": a value that was never written.
"""

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.llm.assembly import Assembly
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.reading import whole
from gateway.llm.schemas import Structured, Understanding
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
from gateway.pipelines.qa_dragon.model import ObjectChoice, QuerySplit

Reply = dict[str, Any]
_THINGS = ("Kestrel Bridge", "the Adler Hotel", "a Fiat 500", "St Olav's Church", 'the "Blue Hen" inn')
_FACTS = (
    "opened in 1894",
    "is 31 metres tall",
    "costs 3.60, with oat milk",
    "weighs 250 to 340 g",
    "has 211 steps",
)


def _understanding(draw: random.Random) -> Reply:
    thing, fact = draw.choice(_THINGS), draw.choice(_FACTS)
    known = draw.random() < 0.6
    reply = {
        "reasoning": [f"The sign says: {thing}.", "I cannot determine the year, so it should be checked."][
            : draw.randint(1, 2)
        ],
        "entity": draw.choice((thing, None)),
        "answer": f"{thing} {fact}." if known else None,
        "answerability": draw.choice(("check", "in_photo")) if known else "look_up",
        "image_search": draw.choice(("bridge", "silver car", None)),
        "text_search": draw.choice(
            ([], [f"How tall is {thing}?"], ["When was {entity} built?", "Who built {entity}?"])
        ),
    }
    if draw.random() < 0.5:  # though it was asked to leave empty fields out
        return reply
    return {name: value for name, value in reply.items() if value not in (None, [], "look_up")}


def _split(draw: random.Random) -> Reply:
    thing = draw.choice(_THINGS)
    return {
        "reason": f"The question asks how tall {thing} is; when it was built is another fact.",
        "queries": draw.choice(
            ([], [f"How tall is {thing}?"], ["When was {entity} built?", "Who built it?"])
        ),
    }


def _choice(draw: random.Random) -> Reply:
    return {
        "reason": f"The question is about {draw.choice(_THINGS)}, which {draw.choice(_FACTS)}.",
        "object_label": draw.choice(("bridge", "red lamp", "car")),
    }


FORMS: dict[type[Structured], Callable[[random.Random], Reply]] = {
    Understanding: _understanding,
    QuerySplit: _split,
    ObjectChoice: _choice,
}


def as_json(reply: Reply, draw: random.Random) -> str:
    """On one line or several."""
    return json.dumps(reply, ensure_ascii=False, indent=draw.choice((None, None, 2)))


def as_lines(reply: Reply, draw: random.Random) -> str:
    """As a server without a schema is asked for it."""
    said = []
    for name, value in reply.items():
        if isinstance(value, list) and value:
            said.append("\n".join([f"{name}:", *(f"- {item}" for item in value)]))
        else:
            said.append(f"{name}: {value or 'none'}")
    return "\n".join(said)


def _python(reply: Reply, draw: random.Random) -> str:
    return repr(reply)


def _reordered(reply: Reply, draw: random.Random) -> str:
    return as_json(dict(draw.sample(sorted(reply.items()), len(reply))), draw)


def _keys_in_other_case(reply: Reply, draw: random.Random) -> str:
    spell = draw.choice((str.upper, str.title, lambda key: key.replace("_", " ").capitalize(), _camel))
    return as_json({spell(key): value for key, value in reply.items()}, draw)


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.title() for word in rest)


def _wrapped(reply: Reply, draw: random.Random) -> str:
    return as_json({draw.choice(("reply", "answer", "form", "output")): reply}, draw)


def _in_list(reply: Reply, draw: random.Random) -> str:
    return f"[{as_json(reply, draw)}]"


def _fenced(text: str, draw: random.Random) -> str:
    return f"```{draw.choice(('', 'json', 'text'))}\n{text}\n```"


def _introduced(text: str, draw: random.Random) -> str:
    return draw.choice(("Sure! Here is my reply:\n\n", "Okay, I looked at the photo. ", "**Reply**\n")) + text


def _followed(text: str, draw: random.Random) -> str:
    return text + draw.choice(
        ("\n\nI hope this helps!", "\n\nNote: I looked at the photo only.", "\n\nLet me know.")
    )


def _trailing_commas(text: str, draw: random.Random) -> str:
    return re.sub(r"""(?<=["'\d\]])(\s*[}\]])""", r",\1", text)


def _no_commas_at_line_ends(text: str, draw: random.Random) -> str:
    return re.sub(r",\n", "\n", text)


def _unquoted_keys(text: str, draw: random.Random) -> str:
    return re.sub(r'"(\w+)":', r"\1:", text)


def _curly_quotes(text: str, draw: random.Random) -> str:
    return re.sub(r'(?<!\\)"((?:[^"\\]|\\.)*)"', r"“\1”", text)


def _unescaped(text: str, draw: random.Random) -> str:
    return text.replace('\\"', '"')


def _a_quote_missing(text: str, draw: random.Random) -> str:
    places = [found.start() for found in re.finditer('"', text)]
    at = draw.choice(places) if places else len(text)
    return text[:at] + text[at + 1 :]


def _a_comma_missing(text: str, draw: random.Random) -> str:
    places = [found.start() for found in re.finditer(r""",(?=\s*["'\d\[])""", text)]
    at = draw.choice(places) if places else len(text)
    return text[:at] + text[at + 1 :]


def _raw_line_breaks(text: str, draw: random.Random) -> str:
    return text.replace(". ", ".\n")


def _doubled_braces(text: str, draw: random.Random) -> str:
    return f"{{{text}}}"


def _commented(text: str, draw: random.Random) -> str:
    return text.replace(",\n", ", // as asked\n", 1)


def _no_end(text: str, draw: random.Random) -> str:
    return text.rstrip("}\n ")


def _marked_labels(text: str, draw: random.Random) -> str:
    mark = draw.choice(("**{}**:", "- {}:", "- **{}:**", "{} :", "### {}:", "1. {}:"))
    return re.sub(r"^(\w+):", lambda found: mark.format(found.group(1)), text, flags=re.MULTILINE)


def _labels_in_other_case(text: str, draw: random.Random) -> str:
    spell = draw.choice((str.upper, str.title, lambda label: label.replace("_", " ").capitalize()))
    return re.sub(r"^(\w+):", lambda found: f"{spell(found.group(1))}:", text, flags=re.MULTILINE)


def _quoted_values(text: str, draw: random.Random) -> str:
    return re.sub(r"^(\w+): (.+)$", r'\1: "\2"', text, flags=re.MULTILINE)


def _blank_lines(text: str, draw: random.Random) -> str:
    return re.sub(r"\n(?=\w+:)", "\n\n", text)


def _lines_reordered(text: str, draw: random.Random) -> str:
    blocks = re.split(r"\n(?=\w+:)", text)
    return "\n".join(draw.sample(blocks, len(blocks)))


def _lists_on_a_line(text: str, draw: random.Random) -> str:
    return re.sub(r":\n- ([^\n]+)(?=\n\w+:|\Z)", r": \1", text)


SPELLINGS = (as_json, _python, _reordered, _keys_in_other_case, _wrapped, _in_list)
AROUND = (_fenced, _introduced, _followed)
IN_JSON = (
    _trailing_commas,
    _no_commas_at_line_ends,
    _unquoted_keys,
    _curly_quotes,
    _unescaped,
    _a_quote_missing,
    _a_comma_missing,
    _raw_line_breaks,
    _doubled_braces,
    _commented,
    _no_end,
)
IN_LINES = (
    _marked_labels,
    _labels_in_other_case,
    _quoted_values,
    _blank_lines,
    _lines_reordered,
    _lists_on_a_line,
)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A reply as it was meant and as it came. `how`: the operators; `cut`: at its token limit."""

    schema: type[Structured]
    meant: Structured
    text: str
    how: str
    cut: bool = False


def corpus(seed: int, each: int, *, lines: bool) -> Iterator[Malformed]:
    """`each` replies a schema: spelled, broken by up to one operator, put into prose, some cut off."""
    draw = random.Random(seed)
    for schema, made in FORMS.items():
        for _ in range(each):
            reply = made(draw)
            spell = as_lines if lines else draw.choice(SPELLINGS)
            broken = [draw.choice(IN_LINES if lines else IN_JSON)] if draw.random() < 0.8 else []
            around = [draw.choice(AROUND)] if draw.random() < 0.4 else []
            text = spell(reply, draw)
            for operator in (*broken, *around):
                text = operator(text, draw)
            cut = draw.random() < 0.15
            if cut:
                text = text[: draw.randint(1, max(1, len(text) - 1))]
            how = " ".join(each.__name__.strip("_") for each in (spell, *broken, *around))
            yield Malformed(schema, schema.model_validate(reply), text, how, cut)


def outcome(reply: Malformed) -> str:
    """ "right", "in part", "wrong" or "refused"."""
    assembly = Assembly(reply.schema)
    ended = "length" if reply.cut else "stop"
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=reply.text), finish_reason=ended)]))
    try:
        read = whole(assembly.completion())
    except VlmReplyUnusable:
        return "refused"
    if _unquoted(read) == _unquoted(reply.meant):
        return "right"
    fields = reply.schema.model_fields
    return "in part" if all(_not_false(reply, read, name) for name in fields) else "wrong"


_QUOTES = str.maketrans("", "", "\"'“”")


def _unquoted(value: Any) -> Any:
    """Without quotation marks: one of them more or less changes no meaning."""
    if isinstance(value, Structured):
        return {name: _unquoted(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, list):
        return [_unquoted(item) for item in value]
    return value.translate(_QUOTES) if isinstance(value, str) else value


def _not_false(reply: Malformed, read: Structured, name: str) -> bool:
    """Whether the field is as it was meant, or says less: nothing, fewer items, a reason's beginning."""
    held, meant = _unquoted(getattr(read, name)), _unquoted(getattr(reply.meant, name))
    field = reply.schema.model_fields[name]
    if held == meant or (not field.is_required() and held == field.default):
        return True
    if isinstance(held, list):
        begun = held and field.is_required() and any(str(item).startswith(str(held[-1])) for item in meant)
        return all(item in meant for item in held) or bool(begun and held[:-1] == meant[: len(held) - 1])
    return field.is_required() and isinstance(held, str) and isinstance(meant, str) and meant.startswith(held)


def main(seed: int = 16, each: int = 2_000) -> None:
    """Print the shares."""
    for lines in (False, True):
        counted: dict[str, Counter[str]] = {}
        wrong: Counter[str] = Counter()
        for reply in corpus(seed, each, lines=lines):
            how = outcome(reply)
            counted.setdefault(reply.schema.__name__, Counter())[how] += 1
            if how == "wrong":
                wrong[reply.how + (" cut" if reply.cut else "")] += 1
        for name, shares in counted.items():
            told = ", ".join(
                f"{how} {shares[how] / each:.1%}" for how in ("right", "in part", "wrong", "refused")
            )
            sys.stdout.write(f"{'lines' if lines else 'JSON '} {name:15} {told}\n")
        sys.stdout.write(f"      wrong: {wrong.most_common(8)}\n")


if __name__ == "__main__":
    main()
