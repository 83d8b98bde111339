"""Comments in the file of chosen thresholds."""

from evaluation.calibration.calibrating import Evidence
from evaluation.calibration.estimate import Given
from evaluation.calibration.promise import Promise
from evaluation.calibration.replay import basis_of, unmeasured_of


def comments_of(promise: Promise, evidence: Evidence, test: Evidence | None = None) -> list[str]:
    """What was chosen, on what, for what, over which tokens, and what is to be expected."""
    lines = [
        f"Chosen on {promise.made_at} by `loreglass eval calibrate` for {promise.pipeline}.",
        promise.aim,
    ]
    for source in promise.runs:
        about = f"{source.dataset} (fingerprint {source.fingerprint[:16]}), {source.questions} questions"
        lines.append(f"On the run {source.name}: {about}, judged by {promise.judge}.")
    lines.append(f"There, before: {_told(promise.before)}.")
    lines.append(f"There, after: {_told(promise.after)}.")
    if promise.expected:
        lines.append(f"To be expected (cross-validated): {_told(promise.expected)}.")
    lines += basis_told(evidence, test)
    if promise.check:
        names = ", ".join(source.dataset for source in promise.check.runs)
        lines += [f"On {names}: {_told(promise.check.after)}.", promise.check.told]
    return lines


def basis_told(evidence: Evidence, test: Evidence | None) -> list[str]:
    """Token thresholds hold for probabilities of one kind: of which, and if the check's are of another."""
    basis = basis_of(evidence.signals)
    checked = basis_of(test.signals) if test else basis
    lines = [f"token_min and token_mean: for probabilities {basis}."] if basis else []
    if unmeasured := unmeasured_of(evidence.signals):
        lines.append(f"answer_confidence: {unmeasured} answers have none (not measured), and pass it.")
    if checked != basis:
        lines.append(f"The check's are {checked or 'not told'}: there they do not say what they say here.")
    return lines


def _told(given: Given) -> str:
    wrong, truth = 100 * given.hallucination, given.truthfulness
    return f"{100 * given.accuracy:.1f} % right, {wrong:.1f} % wrong, truthfulness {truth:+.3f}"
