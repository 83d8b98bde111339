"""What a relation is: how people ask for it, what infoboxes call it and how prose states it."""

from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """The kind of thing that answers a question (answer-type taxonomy in the spirit of Li and Roth, 2002)."""

    PERSON = "person"
    NAME = "name"
    PLACE = "place"
    DATE = "date"
    HOURS = "hours"
    NUMBER = "number"
    MONEY = "money"
    QUANTITY = "quantity"
    PERCENT = "percent"
    PHONE = "phone"
    PHRASE = "phrase"
    YES_NO = "yes_no"
    LIST = "list"
    TEXT = "text"
    EXPLANATION = "explanation"


NAMED = frozenset({Answer.PERSON, Answer.NAME, Answer.PLACE})
NUMERIC = frozenset({Answer.NUMBER, Answer.MONEY, Answer.QUANTITY, Answer.PERCENT})


@dataclass(frozen=True, slots=True)
class Relation:
    """`nouns` name it (also as infobox keys); `verbs` state it; `wh` is the question word that asks it with a verb.

    `asks` are further question patterns, `cues` further evidence patterns (regular expressions over
    folded text). `dimension` is a unit dimension for quantities. `bearer` holds nouns for a thing that is
    itself named through this relation ("painter" in "this painter"), so that it can be an inner hop.
    """

    name: str
    answer: Answer
    nouns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    wh: str = ""
    asks: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    dimension: str = ""
    plural: bool = False

    @property
    def is_event_date(self) -> bool:
        """Whether it asks when something happened."""
        return self.answer is Answer.DATE


def relation(
    name: str,
    answer: Answer,
    nouns: str = "",
    *,
    verbs: str = "",
    wh: str = "",
    asks: str = "",
    cues: str = "",
    dimension: str = "",
    plural: bool = False,
) -> Relation:
    """A relation from `|`-separated phrases (`asks` and `cues`: one pattern per line)."""
    return Relation(
        name,
        answer,
        tuple(n for n in nouns.split("|") if n) or (name,),
        tuple(v for v in verbs.split("|") if v),
        wh,
        tuple(line.strip() for line in asks.splitlines() if line.strip()),
        tuple(line.strip() for line in cues.splitlines() if line.strip()),
        dimension,
        plural,
    )


def event(
    stem_forms: str, *, who: str = "", when: str = "", where: str = "", **nouns: str
) -> tuple[Relation, ...]:
    """The relations that one kind of event gives: its agent, its date, its place.

    `stem_forms` are the verb forms; `who`, `when`, `where` the names of the relations, with further
    nouns after `|`; `where_nouns`… are not needed because the first noun is the name.
    """
    made: list[Relation] = []
    for wh, spec in (("who", who), ("when", when), ("where", where)):
        if not spec:
            continue
        kind = {"who": Answer.PERSON, "when": Answer.DATE, "where": Answer.PLACE}[wh]
        if nouns.get("agent") == "name" and wh == "who":
            kind = Answer.NAME
        made.append(relation(spec.split("|")[0], kind, spec, verbs=stem_forms, wh=wh))
    return tuple(made)
