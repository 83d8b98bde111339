"""CRAG-MM's scores once more, counted by hand from the benchmark's published rules, with nothing of ours.

A prediction is a dictionary: `session`, `turn`, `several` (whether it is of the multi-turn part), `said`
(None: the request failed), `gold`, and `judge` (`right`, or anything else). Loops and counters on purpose.
"""

from typing import Any

Prediction = dict[str, Any]


def first_tokens(text: str, most: int) -> str:
    """The text up to the end of its last token that counts.

    A token: up to seven letters, up to three digits, or one mark; white space is none.
    """
    seen = 0
    place = 0
    while place < len(text):
        char = text[place]
        if char.isspace():
            place += 1
            continue
        end = place + 1
        if char.isalpha():
            while end < len(text) and end - place < 7 and text[end].isalpha():
                end += 1
        elif char.isdigit():
            while end < len(text) and end - place < 3 and text[end].isdigit():
                end += 1
        seen += 1
        place = end
        if seen == most:
            return text[:place]
    return text


def is_missing(text: str, variant: str) -> bool:
    """Whether the answer says that it does not know, in the words of that variant."""
    lower = text.lower()
    if variant == "kdd-cup-2025":
        return lower.find("i don't know") >= 0
    letters = ""
    for char in lower:
        if char in "abcdefghijklmnopqrstuvwxyz0123456789" or char.isspace():
            letters += char
    return letters.find("i dont know") >= 0 or letters.find("i do not know") >= 0


def outcome(prediction: Prediction, variant: str) -> str:
    """`correct`, `missing` or `incorrect` for one answer by itself."""
    if prediction["said"] is None:
        return "missing"
    text = first_tokens(prediction["said"], 75)
    if is_missing(text, variant):
        return "missing"
    if text.strip().lower() == prediction["gold"].strip().lower():
        return "correct"
    return "correct" if prediction["judge"] == "right" else "incorrect"


def stopped(outcomes: list[str]) -> list[str]:
    """What is left of a conversation once its wearer gives up after two failures in a row."""
    for place in range(1, len(outcomes)):
        if outcomes[place - 1] != "correct" and outcomes[place] != "correct":
            return outcomes[: place + 1] + ["missing"] * (len(outcomes) - place - 1)
    return list(outcomes)


def recompute(predictions: list[Prediction], variant: str) -> dict[str, float]:
    """The figures of one set of predictions under one variant."""
    conversations: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        conversations.setdefault(prediction["session"], []).append(prediction)
    tally = {"correct": 0, "missing": 0, "incorrect": 0}
    session_means = []
    gave_up = talks = 0
    for turns in conversations.values():
        turns.sort(key=lambda prediction: prediction["turn"])
        alone = [outcome(prediction, variant) for prediction in turns]
        after = stopped(alone)
        for each in after if variant == "kdd-cup-2025" else alone:
            tally[each] += 1
        session_means.append((after.count("correct") - after.count("incorrect")) / len(after))
        if turns[0]["several"]:
            talks += 1
            for place in range(1, len(alone)):
                if alone[place - 1] != "correct" and alone[place] != "correct":
                    gave_up += 1
                    break
    total = len(predictions)
    figures = {
        "accuracy": tally["correct"] / total,
        "missing": tally["missing"] / total,
        "hallucination": tally["incorrect"] / total,
        "truthfulness": (2 * tally["correct"] + tally["missing"]) / total - 1,
        "session_truthfulness": sum(session_means) / len(session_means),
    }
    if talks:
        figures["early_stopped"] = gave_up / talks
    return figures
