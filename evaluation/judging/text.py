"""Text of answers: spelling, refusals, the cut to 75 tokens, and SQuAD's measures.

The cut: both published kits cut with the `tokenizer.json` of meta-llama/Llama-3.2-1B-Instruct, which is
gated. Its begin-of-text token is one of the 75. Without the file, `truncate` cuts by words, which is close
but not the same.

Exact match and F1 (Rajpurkar et al. 2016, section 6.1) are computed as the official scripts do (v1.1 and
v2.0): lower case, without ASCII punctuation and articles, white space squeezed; the best over all golds
counts. The empty answer means "there is no answer here".
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.data.model import EvaluationError

MAX_ANSWER_TOKENS = 75
"""CRAG-MM judges the first 75 tokens of an answer."""

_PIECE = re.compile(r"\d{1,3}|[^\W\d_]{1,7}|[^\w\s]|_")
_SPELLINGS = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ´`′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        "×": "x",
        "&": " and ",
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
    }
)
_REFUSALS = ("i dont know", "i do not know")


def truncate(answer: str, limit: int = MAX_ANSWER_TOKENS) -> str:
    """Return the answer's first `limit` tokens.

    Approximates a subword tokenizer without one: a token is up to seven letters, up to three digits or
    one mark, which for English prose gives about 1.3 tokens a word, as Llama's vocabulary does.
    """
    for number, piece in enumerate(_PIECE.finditer(answer), 1):
        if number == limit:
            return answer[: piece.end()]
    return answer


def one_line(text: str) -> str:
    """Return untrusted text on one line, with printable characters only."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def canonical(text: str) -> str:
    """Return lower case with compatibility forms, quotes, dashes and accents folded."""
    folded = unicodedata.normalize("NFKC", text.translate(_SPELLINGS)).casefold().translate(_SPELLINGS)
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


def is_refusal(answer: str) -> bool:
    """Return whether the answer is "I don't know" in any punctuation (CRAG-MM's rule for `missing`)."""
    plain = re.sub(r"[^a-z0-9\s]", " ", canonical(answer).replace("'", ""))
    spaced = " ".join(plain.split())
    return not spaced or any(refusal in spaced for refusal in _REFUSALS)


@dataclass(frozen=True, slots=True)
class Cut:
    """Cuts an answer to what is judged of it. `name`: in reports."""

    name: str
    apply: Callable[[str], str]

    def __call__(self, answer: str) -> str:
        return self.apply(answer)


class TokenizerError(EvaluationError):
    """The file is not a tokenizer; the message says what to do."""


APPROXIMATE = Cut(f"approximation, {MAX_ANSWER_TOKENS} tokens", truncate)
"""By pieces of words; it needs no file."""


def open_cut(tokenizer: Path | None) -> Cut:
    """Return the cut by that `tokenizer.json` or folder; without a path, the approximation.

    Raises `TokenizerError`.
    """
    if tokenizer is None:
        return APPROXIMATE
    path = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
    if not path.is_file():
        raise TokenizerError(f"{path} is not there; it should be the tokenizer.json of a model")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise TokenizerError("cutting by a tokenizer needs: pip install tokenizers") from error
    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise TokenizerError(f"{path} is not a tokenizer's file: {error}") from error
    loaded.enable_truncation(max_length=MAX_ANSWER_TOKENS)
    name = f"{path.parent.name}/{path.name}, {MAX_ANSWER_TOKENS} tokens"
    return Cut(name, lambda answer: str(loaded.decode(loaded.encode(answer).ids)))


_NOT_PLAIN = re.compile(r"[^a-z0-9\s]")


def literal_refusal(answer: str) -> bool:
    """Return whether KDD Cup 2025's rule sees a refusal: these exact characters, in any case."""
    return "i don't know" in answer.lower()


def plain_refusal(answer: str) -> bool:
    """Return whether CRAG-MM 2026's rule sees a refusal: it keeps only a-z, 0-9 and white space."""
    plain = _NOT_PLAIN.sub("", answer.lower())
    return "i dont know" in plain or "i do not know" in plain


def refusal_by_all(answer: str) -> bool:
    """Return whether both kits count it as missing, so that no judge is needed."""
    return literal_refusal(answer) and plain_refusal(answer)


def repeats(answer: str, gold: str) -> bool:
    """Return whether the kits see an exact match."""
    return answer.strip().lower() == gold.strip().lower()


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})


def normalise(text: str) -> str:
    """Return the text as both measures compare it."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """Return 1 if the answer is one of the golds, else 0. Without golds: 1 for an empty answer."""
    return max(float(normalise(answer) == gold) for gold in _targets(golds))


def word_f1(answer: str, golds: Sequence[str]) -> float:
    """The harmonic mean of precision and recall in words, 0..1, of the best gold; as `exact_match` where the
    answer or a gold is empty.
    """
    return max(_f1(normalise(answer).split(), gold.split()) for gold in _targets(golds))


def says(answer: str, golds: Sequence[str]) -> bool:
    """Return whether the answer contains a gold as complete words in order.

    Two spellings are tried: SQuAD's, and words as runs of letters and digits, since the first glues together
    what punctuation parts ("red/green").
    """
    return any(_holds(spelled(answer), spelled(gold)) for gold in golds for spelled in (normalise, words_of))


def _targets(golds: Sequence[str]) -> list[str]:
    return [gold for gold in map(normalise, golds) if gold] or [""]


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    if not answer or not gold:
        return float(answer == gold)
    shared = (Counter(answer) & Counter(gold)).total()
    return 2 * shared / (len(answer) + len(gold))


def _holds(answer: str, gold: str) -> bool:
    return bool(gold) and f" {gold} " in f" {answer} "


def words_of(text: str) -> str:
    """Return its words as runs of letters and digits, without articles."""
    return " ".join(word for word in _WORD.findall(text.lower()) if word not in _ARTICLES)


def overlap(answer: str, gold: str) -> float:
    """Return the share (0..1) of the gold answer's words in the answer; 1 if the gold has no words.

    QA-Dragon (section 4.1.1) reports a "rule-based overlap" beside accuracy (about 41 % where accuracy is
    21 %), but neither its paper nor its code says how it counts. Ours is recall of words: lower case, accents
    and punctuation folded, articles left out, each word as often as it stands in both.
    """
    golds = _word_counts(gold)
    total = golds.total()
    return (golds & _word_counts(answer)).total() / total if total else 1.0


def _word_counts(text: str) -> Counter[str]:
    return Counter(words_of(canonical(text).replace("'", "")).split())
