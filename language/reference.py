"""What a question is about: what it names, points at or describes. Word order and function words only."""

import re
from dataclasses import dataclass

from language.names import names
from language.questions import Question, read_question
from language.words import AUXILIARIES, COPULAS, STOP_WORDS, Word, remembered, word_set

PREPOSITIONS = word_set(
    "of for from by in on at inside beside besides near behind opposite next across around under below"
    " above over outside along past between with about"
)
_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_POSSESSIVES = frozenset({"its", "his", "her", "their"})
_PERSONAL = frozenset({"he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs"})
_THINGS = frozenset({"it", "its", "here"})
_RELATIVES = frozenset({"that", "which", "who", "where"})
_RELATIONS = frozenset({"of", "for", "from", "by"})
"""Prepositions between a thing and what belongs to it; the others lead to another thing, or tell where."""
_WITHIN = frozenset({"in", "on", "at", "inside", "with", "about"})
_TIMES = word_set("time moment day week month year decade century morning afternoon evening night season")
"""After "this" they tell when, and show nothing."""
_ENDS_VERBLESS = word_set("have has had be been do get say says")
PARTICIPLE = re.compile(
    r".+ed|.+(?:tten|aken|oken|iven|osen)|open|known|shown|grown|drawn|born|worn"
    r"|made|built|held|kept|sold|found|hung|set|sent|won|cut|put|spent|read|cast|hit|shot|bred|fed|led|laid|paid"
    r"|taught|brought|bought|caught|lost|left|met|shut|struck|sung|begun|done"
)
_PARTICLES = frozenset({"up", "out", "off", "down", "away"})
LONGEST = 1_000
"""Characters of a question that is taken apart; what is longer describes nothing and compares nothing."""
_BELONGS = re.compile(r"['’]s?\b")
_NOUN = r"(?!(?:that|which|who|what)\b)[\w-]+"
_NOUNS = rf"\b(?:the|this|that) (?P<{{}}>{_NOUN}(?: {_NOUN}){{{{0,2}}}}?) "
_SHOWN = re.compile(
    _NOUNS.format("pictured")
    + r"(?:in|on) (?:the|this|my) (?:photo|picture|image)\b|"
    + _NOUNS.format("held")
    + r"(?:that |which )?I(?:['’]m| am| can|['’]ve| have)? \w+(?: (?:at|on|in)\b)?|"
    + _NOUNS.format("beside")
    + r"(?:in front of|before|beside|next to|near) me\b"
    r"|\bwhat I(?:['’]m| am|['’]ve| have) \w+(?: (?:at|on|in)\b)?"
    r"|\bmy (?P<owned>[\w-]+)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,100})[\"”»]|(?<!\w)['‘]([^'‘’]{2,100})['’](?!\w)")


@dataclass(frozen=True, slots=True)
class Phrase:
    """`text` equals `question[start:end]`; `nouns`: its nouns ("red book" of "this red book"), or empty."""

    text: str
    start: int
    end: int
    nouns: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """A phrase that stands for a thing by its relation to another: "the author of this book", "its maker".

    `asks`: questions whose answer is the thing. `bare`: the other thing is left out ("the author"). `placed`:
    the relation is one of place ("the park beside it"); what is known of the other thing is not true of it.
    """

    phrase: Phrase
    asks: tuple[str, ...]
    placed: bool = False
    bare: bool = False

    def replaced(self, question: str, value: str) -> str:
        """The question with the thing itself in place of its description."""
        return question[: self.phrase.start] + value + question[self.phrase.end :]


@remembered(512)
def named(text: str) -> tuple[str, ...]:
    """What the question calls by name: titles in quotation marks, else names; none that the pointer holds."""
    quoted = tuple((match[1] or match[2]).strip() for match in _QUOTED.finditer(text))
    shown = pointer(text)
    inside = (shown.start, shown.end) if shown else (0, 0)
    called = (name for name in read_question(text).names if not inside[0] <= name.start < inside[1])
    return quoted or tuple(name.text for name in called)


@remembered(512)
def pointer(text: str) -> Phrase | None:
    """The last phrase that points at a thing in view or in mind: "this red book", "it", "here", "my pen"."""
    shown = _SHOWN.search(text[:LONGEST])
    if shown is not None:
        nouns = next(filter(None, shown.groups()), "")
        return Phrase(shown.group(), shown.start(), shown.end(), nouns)
    question = read_question(text)
    for place in range(len(question.words) - 1, -1, -1):
        nouns = _pointing(question, place)
        if nouns is not None:
            return _phrase(question, place, place + nouns)
    return None


def points_back(text: str) -> bool:
    """Whether it says "she" or "there" of somebody or a place that was spoken of; not as in "are there"."""
    words = read_question(text).words
    return any(
        word.folded in _PERSONAL
        or (word.folded == "there" and place > 0 and words[place - 1].folded not in AUXILIARIES)
        for place, word in enumerate(words)
    )


def with_subject(text: str, name: str) -> str:
    """The question with the thing's name where it points at the thing; before it where it does not."""
    shown = pointer(text)
    if shown is None:
        return f"{name} {text}"
    owns = shown.text.casefold() in _POSSESSIVES and _run(read_question(text[shown.end :]), 0) > 0
    return text[: shown.start] + name + ("'s" if owns else "") + text[shown.end :]


def shown_plainly(text: str) -> str:
    """The question with "this book" for "the book I'm looking at": its clause is not what is asked."""
    match = _SHOWN.search(text)
    if match is None:
        return text
    plain = " ".join(("this", *filter(None, match.groups())))
    return f"{text[: match.start()]}{plain}{text[match.end() :]}"


@remembered(512)
def description(text: str) -> Description | None:
    """The innermost description that must be resolved before the question can be asked, if there is one.

    A description that is itself what is asked ("who is the author of this book?") is none.
    """
    question = read_question(text)
    for place in range(len(question.words) - 1, -1, -1) if len(text) <= LONGEST else ():
        found = _description_at(question, place)
        if found is not None:
            return None if _is_asked(question, found) else found
    return None


@remembered(512)
def own_subject(text: str) -> frozenset[str]:
    """Stems of the definite phrase that the question is about, where it points at nothing and is no property.

    "the gold in the parliamentary mace"; empty for "the price", "the author", and for what is asked itself
    ("what is the opening date?").
    """
    question, found, first = read_question(text), set[str](), None
    words = question.words
    if len(text) > LONGEST or pointer(text) is not None:
        return frozenset()
    for place, word in enumerate(words):
        if word.folded == "the" and not _begins_name(question, place):
            nouns = words[place + 1 : place + 1 + _nouns(question, place)]
            found |= {noun.stem for noun in nouns}
            first = place if first is None else first
    if len(found) < 2 or first is None:
        return frozenset()
    goes_on = any(word.folded in PREPOSITIONS | AUXILIARIES for word in words[first:])
    asked = first == 2 and words[0].folded in ("what", "who", "which") and words[1].folded in AUXILIARIES
    return frozenset() if asked and not goes_on else frozenset(found)


def _run(question: Question, first: int) -> int:
    """How many content words from `first` on no function word or mark interrupts."""
    words, last = question.words, first
    while last < len(words) and words[last].folded not in STOP_WORDS | PREPOSITIONS:
        if last > first and question.text[words[last - 1].end : words[last].start].strip(" -"):
            break
        last += 1
    return last - first


def _nouns(question: Question, place: int, clause_verbs: int = 0) -> int:
    """How many of the words after `place` are its nouns: a verb may follow them.

    English puts the main verb behind its subject when an auxiliary stands before it: "when was this book
    printed", "when does this museum open"; after "is" only a participle can be one.
    """
    words, run = question.words, _run(question, place + 1)
    after = words[place + run + 1].folded if place + run + 1 < len(words) else ""
    verb = run and after not in _ENDS_VERBLESS and _verb_waits(question, place, words[place + run])
    least = 0 if words[place].folded in _DEMONSTRATIVES else min(1, run)
    return max(least, run - clause_verbs - int(verb))


def _auxiliary(question: Question) -> int | None:
    """The place of the main clause's auxiliary."""
    first = 0 if question.wh is None else question.wh + 1
    found = (
        place for place in range(first, len(question.words)) if question.words[place].folded in AUXILIARIES
    )
    return next(found, None)


def _verb_waits(question: Question, place: int, last: Word) -> bool:
    """Whether the main verb must stand behind the subject that `place` is a part of, and `last` may be it."""
    words, auxiliary = question.words, _auxiliary(question)
    if auxiliary is None:  # "what's this called": the auxiliary is cut off its question word
        return question.wh == place - 1 and PARTICIPLE.fullmatch(last.folded) is not None
    between = words[auxiliary + 1 : place]
    opens = not between or between[0].folded in {"the"} | _POSSESSIVES | _DEMONSTRATIVES
    copula = words[auxiliary].folded in COPULAS
    return auxiliary < place and opens and (not copula or PARTICIPLE.fullmatch(last.folded) is not None)


def _pointing(question: Question, place: int) -> int | None:
    """The number of nouns that follow, if the word at `place` points."""
    words, word = question.words, question.words[place].folded
    if word in _DEMONSTRATIVES:
        joins = word == "that" and place > 0 and words[place - 1].folded not in STOP_WORDS
        timed = place + 1 < len(words) and words[place + 1].folded in _TIMES
        clause = place > 0 and words[place - 1].folded == "where"
        return None if joins or timed else _nouns(question, place, int(clause))
    spoken = word == "there" and place > 0 and words[place - 1].folded not in AUXILIARIES
    return 0 if spoken or word in _THINGS | _PERSONAL else None


def _phrase(question: Question, first: int, last: int) -> Phrase:
    words, text = question.words, question.text
    start, end = words[first].start, words[last].end
    return Phrase(text[start:end], start, end, text[words[first].end : end].strip())


def _description_at(question: Question, place: int) -> Description | None:
    words, word = question.words, question.words[place].folded
    determines = word == "the" or word in _POSSESSIVES | _DEMONSTRATIVES
    run = _run(question, place + 1) if determines else 0
    if word in _POSSESSIVES and run:
        return _related(question, place, place + _nouns(question, place))
    if word in _DEMONSTRATIVES and run:
        owner = next((each for each in range(place + 1, place + run + 1) if _owns(question, each)), None)
        own = owner is not None and _run(question, owner + 1) > 0
        return _related(question, place, owner + _nouns(question, owner)) if own and owner else None
    if word != "the" or not run or _begins_name(question, place) or words[place + 1].folded == "name":
        return None
    link = words[place + run + 1].folded if place + run + 1 < len(words) else ""
    if link in _RELATIVES | _RELATIONS or link in PREPOSITIONS - _WITHIN:
        return _anchored(question, place, place + run + 1)
    bare = not link or link in _ENDS_VERBLESS
    subject = _auxiliary(question) == place - 1
    return _related(question, place, place + _nouns(question, place), bare) if bare and subject else None


def _owns(question: Question, place: int) -> bool:
    return _BELONGS.match(question.text, question.words[place].end) is not None


def _begins_name(question: Question, place: int) -> bool:
    after = question.words[place].end + 1
    return any(name.start <= after < name.end for name in names(question.text))


def _related(question: Question, first: int, last: int, bare: bool = False) -> Description:
    phrase = _phrase(question, first, last)
    return Description(phrase, (f"who is {phrase.text}?", f"what is {phrase.text}?"), bare=bare)


def _anchored(question: Question, place: int, link: int) -> Description | None:
    """ "the author of this book", "the company that makes it", "the park beside this church"."""
    words, how = question.words, question.words[link].folded
    last = _end_of_anchor(question, place, link)
    if last is None:
        return None
    phrase, nouns = _phrase(question, place, last), _phrase(question, place, link - 1).nouns
    if how in _RELATIVES:
        clause = question.text[words[link].end : phrase.end]
        return Description(phrase, (f"which {nouns}{clause}?",))
    found = _related(question, place, last)
    return Description(phrase, found.asks, placed=how not in _RELATIONS)


def _end_of_anchor(question: Question, place: int, link: int) -> int | None:
    """The last word of what the description is tied to: a pointer or a name, with its clause's verbs."""
    words = question.words
    places = range(link + 1, len(words))
    shown = next((each for each in places if _pointing(question, each) is not None), None)
    if shown is None:
        name = next((each for each in question.names if each.start >= words[link].end), None)
        return None if name is None else max(each for each in places if words[each].end <= name.end)
    run = _run(question, shown + 1)
    last = shown + run
    if words[link].folded == "where" or (shown == link + 1 and words[link].folded in _RELATIVES):
        passive = not run and last + 2 < len(words) and words[last + 1].folded in AUXILIARIES
        return last + 2 if passive else shown + min(run, _nouns(question, shown, 1) + 1)
    alone = last == len(words) - 1 or PARTICIPLE.fullmatch(
        words[last].folded
    )  # "the writer of this married to"
    verb = run and (run > 1 or alone) and _verb_waits(question, place, words[last])
    after = words[last + 1].folded if last + 2 == len(words) else ""
    phrasal = run > 1 and after in _PARTICLES  # "was this company set up?"
    return last - int(bool(verb or phrasal))


def _is_asked(question: Question, found: Description) -> bool:
    """Whether nothing is asked but who or what the description stands for."""
    wh = question.wh
    if wh is not None and question.words[wh].folded not in ("who", "what", "which"):
        return False
    if wh and question.words[wh - 1].folded in PREPOSITIONS:  # "in which town is the museum that owns it?"
        return False
    inside = range(found.phrase.start, found.phrase.end)
    left = (word for word in question.words[question.begin :] if word.start not in inside)
    auxiliary = _auxiliary(question)
    copula = auxiliary is not None and question.words[auxiliary].folded in COPULAS
    kind = (
        question.focus if copula else ()
    )  # "which firm is the maker of this?", not "what job did its maker have?"
    return all(word.folded in STOP_WORDS | {"name", "title"} or word.stem in kind for word in left)
