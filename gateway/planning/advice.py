"""How long callers should wait for a slow model, and what to tell its operator."""

_SPARE = 1.5
_STEP_S = 5


def enough_ms(question_ms: float, longest_ms: float) -> int:
    """Return a deadline that is long enough for most questions, at most `longest_ms`; all in milliseconds."""
    return int(min(longest_ms, 1000 * _STEP_S * (question_ms / 1000 * _SPARE // _STEP_S + 1)))


def deadline_advice(question_ms: float, usual_ms: float, longest_ms: float) -> str:
    """What to set where a question takes longer than callers wait who name no deadline; else "".

    `question_ms`: what a question that is looked up is expected to take; `usual_ms`, `longest_ms`: the
    deadline of callers who name none, and the longest that may be named.
    """
    if question_ms <= usual_ms:
        return ""
    slow = (
        f"A question takes about {question_ms / 1000:.0f} s with this model. Callers who name no deadline "
        f"wait for {usual_ms / 1000:.0f} s, and are answered without it. "
    )
    if question_ms > longest_ms:
        return f"{slow}No deadline that is allowed would do: a smaller model or a quicker machine would."
    return f"{slow}LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS={enough_ms(question_ms, longest_ms)} would do."
