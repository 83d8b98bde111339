"""What a question is about: the thing in the photo, the thing of the conversation, or a thing it names."""

import re
from dataclasses import dataclass
from enum import StrEnum

from gateway.reasoning.extractive.lexical import STOPWORDS, fold, name_words, words
from gateway.reasoning.extractive.units import unit_named
from gateway.reasoning.extractive.values import MONTHS
from gateway.state import Ask, Turn


class TargetKind(StrEnum):
    """Where the thing asked about is to be found."""

    PHOTO = "photo"
    HISTORY = "history"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Target:
    """`names`: things named in the question, in order; `label`: the kind of thing pointed at ("book")."""

    kind: TargetKind
    names: tuple[str, ...] = ()
    label: str | None = None
    deictic: bool = False
    pronoun: str | None = None


_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{2,80})[\"“”«»]|(?<!\w)['‘]([^'‘’]{3,80})['’](?!\w)")
_CAP = r"(?:[A-ZÀ-ÞŠŽŁ][\w’'.&-]*|\d+[A-Za-z]*|[A-Z]+\d[\w-]*)"
_LINK = r"(?:of|the|de|la|le|du|des|da|di|van|von|der|den|and|&|in|on|a|to|for|at|y|el|al)"
_CAPITALS = re.compile(rf"(?<![\w])[A-ZÀ-ÞŠŽŁ][\w’'.&-]*(?:\s+(?:{_LINK}\s+){{0,2}}{_CAP})*")
_NOT_NAMES = frozenset(
    [
        "i",
        "i'm",
        "i'd",
        "i've",
        "i'll",
        "ok",
        "okay",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "english",
        "french",
        "german",
        "spanish",
        "italian",
        "american",
        "british",
        "mr",
        "mrs",
        "eur",
        "usd",
        "gbp",
        "kcal",
        "am",
        "pm",
        "tv",
        "usb",
        "led",
        "abv",
        "ip",
    ]
) | frozenset(MONTHS)
_DEICTIC = re.compile(
    r"\b(?:this|that|these|those)\b(?! (?:year|month|week|evening|morning|afternoon|time|way|much|"
    r"many|is|does|would|kind of))"
    r"|\b(?:i'?m|i am|we'?re|i) (?:holding|looking at|seeing|see|facing|reading|wearing|eating|"
    r"drinking|pointing|standing)\b"
    r"|\bin (?:my hands?|front of (?:me|us))\b|\b(?:in|on|from) (?:the|this|my) (?:photo|picture|"
    r"image|page|sheet|worksheet|wall|table|shelf)\b"
    r"|\bhere\b|\bthat\?$"
)
_PRONOUN = re.compile(r"\b(it|its|he|his|him|she|her|hers|they|their|them|there)\b")
LABELS = frozenset(
    [
        "book",
        "novel",
        "menu",
        "sign",
        "plaque",
        "poster",
        "label",
        "box",
        "packet",
        "package",
        "bottle",
        "can",
        "jar",
        "bag",
        "painting",
        "picture",
        "artwork",
        "canvas",
        "dish",
        "meal",
        "soup",
        "shop",
        "store",
        "cafe",
        "restaurant",
        "bakery",
        "building",
        "house",
        "church",
        "museum",
        "statue",
        "device",
        "phone",
        "camera",
        "speaker",
        "headphones",
        "laptop",
        "gadget",
        "machine",
        "appliance",
        "radio",
        "lamp",
        "watch",
        "car",
        "bike",
        "vehicle",
        "plant",
        "flower",
        "tree",
        "animal",
        "dog",
        "cat",
        "bird",
        "worksheet",
        "page",
        "exercise",
        "problem",
        "equation",
        "ticket",
        "receipt",
        "card",
        "game",
        "toy",
        "shirt",
        "dress",
        "shoe",
        "shoes",
        "jacket",
        "cover",
        "product",
        "food",
        "snack",
        "drink",
        "cereal",
        "biscuit",
        "biscuits",
        "bar",
        "chocolate",
        "tea",
        "coffee",
        "juice",
        "sauce",
        "cheese",
        "bread",
        "person",
        "man",
        "woman",
        "player",
        "monitor",
        "keyboard",
        "router",
        "printer",
        "tablet",
        "drone",
        "toaster",
        "kettle",
        "blender",
        "fan",
        "clock",
        "instrument",
        "guitar",
        "concert",
        "festival",
        "exhibition",
        "event",
        "show",
        "fair",
        "market",
        "album",
        "film",
        "movie",
        "magazine",
        "newspaper",
        "map",
        "coin",
        "stamp",
        "front",
        "storefront",
        "thing",
        "item",
        "object",
        "frame",
        "volume",
        "paperback",
        "hardcover",
        "tin",
        "carton",
        "pack",
        "sheet",
        "homework",
        "quiz",
    ]
)
PERSONAL = frozenset(["he", "his", "him", "she", "her", "hers"])


def named_things(question: str) -> tuple[str, ...]:
    """Names in the question as written: quoted ones first, then runs of capitalised words."""
    names = [a or b for a, b in _QUOTED.findall(question)]
    rest = _QUOTED.sub(" , ", question)
    for match in _CAPITALS.finditer(rest):
        name = _trim(match.group(), at_start=not rest[: match.start()].strip(" ,¿\"'"))
        if name and not any(fold(name) in fold(known) for known in names):
            names.append(name)
    return tuple(names)


def _trim(run: str, *, at_start: bool) -> str:
    pieces = [p for p in re.sub(r"['’]s\b", " ", run).strip(" .,'’&").split() if p]
    while pieces and fold(pieces[0]).strip(".,'’") in (_NOT_NAMES | (STOPWORDS - {"the", "a"})):
        pieces.pop(0)
    while pieces and fold(pieces[-1]) in STOPWORDS | _NOT_NAMES:
        pieces.pop()
    if at_start and len(pieces) == 1 and fold(pieces[0]) in _OPENERS:
        return ""
    if at_start and pieces and fold(pieces[0]) in _OPENERS:
        pieces.pop(0)
    name = " ".join(pieces).strip(".,'’")
    wordy = bool(name_words(name)) and re.search(r"[^\W\d_]{2}", name) is not None
    return name if wordy and fold(name) not in _NOT_NAMES and unit_named(name) is None else ""


_OPENERS = frozenset(
    [
        "name",
        "list",
        "compare",
        "give",
        "show",
        "count",
        "read",
        "tell",
        "identify",
        "solve",
        "calculate",
        "compute",
        "find",
        "explain",
        "describe",
        "hey",
        "hi",
        "hello",
        "between",
        "among",
        "at",
        "in",
        "of",
        "for",
        "and",
        "or",
        "so",
        "then",
        "now",
        "also",
        "besides",
        "apart",
        "according",
        "looking",
        "based",
        "assuming",
        "given",
        "suppose",
        "say",
        "please",
        "can",
        "could",
        "translate",
        "add",
        "total",
        "hmm",
        "wait",
        "great",
        "nice",
        "thanks",
        "sorry",
        "cool",
        "wow",
        "one",
    ]
)


def label_of(question: str) -> str | None:
    """The kind of thing pointed at: the last label noun after a pointing word, else any label noun."""
    tokens = words(question)
    for index, word in enumerate(tokens):
        if word in {"this", "that", "these", "those"}:
            for after in tokens[index + 1 : index + 4]:
                if after in LABELS:
                    return after
    return next((w for w in tokens if w in LABELS), None)


def find_target(ask: Ask) -> Target:
    """Photo for pointing words, the named thing for names, the conversation for pronouns and ellipsis."""
    text = fold(ask.question)
    names = named_things(ask.question)
    deictic = _DEICTIC.search(text) is not None
    pronoun_match = _PRONOUN.search(text)
    pronoun = pronoun_match.group(1) if pronoun_match else None
    label = label_of(ask.question)
    kind = _kind(ask, names, deictic, pronoun, label)
    return Target(kind, names, label, deictic, pronoun)


def _kind(
    ask: Ask, names: tuple[str, ...], deictic: bool, pronoun: str | None, label: str | None
) -> TargetKind:
    fresh = ask.photo is not None and (ask.photo_is_new or not ask.history)
    if deictic:
        return (
            TargetKind.PHOTO
            if ask.photo is not None and (fresh or ask.remembered is None)
            else TargetKind.HISTORY
        )
    if pronoun in PERSONAL and ask.history:
        return TargetKind.HISTORY
    if names and (pronoun is None or ask.question.find(names[0]) < fold(ask.question).find(f" {pronoun}")):
        return TargetKind.NAMED
    if fresh and (not ask.history or label is not None or pronoun is None):
        return TargetKind.PHOTO
    if ask.history:
        return TargetKind.HISTORY
    return TargetKind.PHOTO if ask.photo is not None else TargetKind.NAMED


_PERSON = re.compile(
    r"\b[A-ZÀ-ÞŠŽ][\w’'-]+(?:\s+(?:(?:de|van|von|la|le|di|da|der|[A-Z]\.)\s+)*[A-ZÀ-ÞŠŽ][\w’'-]+){1,3}"
)


def person_of_conversation(history: tuple[Turn, ...]) -> str | None:
    """The person whom `he` or `she` means: the last name in an answer that is not the thing's own name."""
    for turn in reversed(history):
        if turn.abstained:
            continue
        own = turn.entity.name if turn.entity else ""
        names = [m.group() for m in _PERSON.finditer(turn.answer)]
        names = [n for n in (_trim(n, at_start=False) for n in names) if len(n.split()) > 1]
        other = [n for n in names if fold(n) not in fold(own) and fold(own) not in fold(n)]
        if other:
            return other[-1]
    return None
