"""SQuAD's figures and the five outcomes once more, from the published rules, with nothing of ours.

A prediction is a dictionary: `said` (None: the request failed; empty: refused), `golds` (none: unanswerable).
Letter by letter on purpose, where the published scripts use regular expressions.
"""

from typing import Any

Prediction = dict[str, Any]
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def words_of(text: str) -> list[str]:
    """Lower case, without punctuation, cut at white space, without articles that stand alone."""
    plain = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return [word for word in without_articles(plain).split()]


def without_articles(text: str) -> str:
    """An article ends where a letter, digit or mark of the word class does not go on."""
    kept, place = "", 0
    while place < len(text):
        end = place
        while end < len(text) and is_of_a_word(text[end]):
            end += 1
        if end == place:
            kept += text[place]
            place += 1
            continue
        word = text[place:end]
        kept += " " if word in ("a", "an", "the") else word
        place = end
    return kept


def is_of_a_word(letter: str) -> bool:
    """What Unicode calls a letter or a number, or an underscore."""
    return letter.isalnum() or letter == "_"


def exact(said: str, golds: list[str]) -> int:
    """Whether the answer is one of the golds."""
    wanted = [words_of(gold) for gold in golds if words_of(gold)] or [[]]
    return 1 if words_of(said) in wanted else 0


def f1(said: str, golds: list[str]) -> float:
    """The best over the golds."""
    best = 0.0
    for wanted in [words_of(gold) for gold in golds if words_of(gold)] or [[]]:
        found = words_of(said)
        if not found or not wanted:
            best = max(best, 1.0 if found == wanted else 0.0)
            continue
        left, same = list(wanted), 0
        for word in found:
            if word in left:
                left.remove(word)
                same += 1
        if same:
            precision, recall = same / len(found), same / len(wanted)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def holds(said: str, golds: list[str]) -> bool:
    """Whether a gold's words stand in the answer, one after the other."""
    found = words_of(said)
    for wanted in (words_of(gold) for gold in golds):
        for start in range(len(found) - len(wanted) + 1 if wanted else 0):
            if found[start : start + len(wanted)] == wanted:
                return True
    return False


def recompute(predictions: list[Prediction]) -> dict[str, float]:
    """The figures of one set; those over nothing are left out."""
    sums: dict[str, list[float]] = {}
    for each in predictions:
        failed, said, golds = each["said"] is None, each["said"] or "", each["golds"]
        matched = 0.0 if failed else float(exact(said, golds))
        overlap = 0.0 if failed else f1(said, golds)
        sums.setdefault("exact", []).append(matched)
        sums.setdefault("f1", []).append(overlap)
        if golds:
            sums.setdefault("has_exact", []).append(matched)
            sums.setdefault("has_f1", []).append(overlap)
            sums.setdefault("right", []).append(float(bool(said) and holds(said, golds)))
            sums.setdefault("wrong", []).append(float(bool(said) and not holds(said, golds)))
            sums.setdefault("not_known", []).append(float(not said))
        else:
            sums.setdefault("no_answer", []).append(matched)
            sums.setdefault("answered", []).append(float(bool(said)))
    figures = {name: sum(values) / len(values) for name, values in sums.items()}
    lengths = sorted(len(each["said"].split()) for each in predictions if each["said"])
    if lengths:
        figures["words_median"] = lengths[(len(lengths) + 1) // 2 - 1]
        figures["words_p90"] = lengths[-(-9 * len(lengths) // 10) - 1]
    return figures
