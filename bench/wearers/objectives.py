"""The service level objectives, held against a run."""

from collections.abc import Sequence
from statistics import median

from bench.wearers.records import Asked, Fate, Record, Results, Samples, Verdict
from bench.wearers.shape import Phase, Shape, phase_at

MOST_ERRORS = 0.005
MOST_MISSES = 0.01
MEMORY_GROWTH = 0.1
MEMORY_ALLOWANCE = 32 * 2**20
"""Bytes that caches and the allocator may still take once the run is a third over."""
_FEWEST_SAMPLES = 8


def verdicts(run: Results, deadline_s: float, unexpected: Sequence[str] = ()) -> list[Verdict]:
    """All objectives that a run of this shape must hold. `unexpected`: what went wrong with the wearers."""
    shape = Shape(run.shape)
    asked = [record for record in run.records if record.asked is not Asked.FORGET]
    found = [
        _asked(asked),
        _contract(run.records),
        _accepted(run.records),
        _in_time(asked),
        _errors(run.records),
    ]
    if shape is Shape.RAMP:
        found.append(_recovered(run, deadline_s))
    else:
        found += [_misses(asked), _sheds(asked)]
    if shape is Shape.SOAK:
        found += [_memory(url, samples, run) for url, samples in run.memory.items()]
    if unexpected:
        found.append(Verdict("wearers", False, f"A wearer stumbled: {unexpected[0]}."))
    return found


def _asked(asked: Sequence[Record]) -> Verdict:
    answered = [record for record in asked if record.fate in (Fate.FULL, Fate.DEGRADED, Fate.REFUSED)]
    said = f"{len(asked)} questions were asked, {len(answered)} of them answered or refused in time"
    return Verdict("questions", bool(answered), said + ".")


def _contract(records: Sequence[Record]) -> Verdict:
    broken = [record.trouble for record in records if record.trouble]
    if not broken:
        return Verdict("contract", True, "Every reply keeps the contract, and its session.")
    return Verdict("contract", False, f"{_of(len(broken), records)} replies break the contract: {broken[0]}")


def _accepted(records: Sequence[Record]) -> Verdict:
    turned_down = [record for record in records if record.fate is Fate.REJECTED]
    if not turned_down:
        return Verdict("accepted", True, "No request was called wrong.")
    first = turned_down[0]
    what = f"{_of(len(turned_down), records)} right requests were called wrong"
    return Verdict("accepted", False, f"{what}: {first.status} {first.problem} to a {first.asked}.")


def _in_time(asked: Sequence[Record]) -> Verdict:
    late = [record for record in asked if record.ms > record.late_after_ms and record.status != 0]
    if not late:
        slowest = max((record.ms for record in asked), default=0.0)
        return Verdict(
            "in time", True, f"No reply came after its deadline; the slowest after {slowest:,.0f} ms."
        )
    worst = max(late, key=lambda record: record.ms - record.late_after_ms)
    said = f"after {worst.ms:,.0f} ms where {worst.late_after_ms:,.0f} were allowed"
    return Verdict(
        "in time", False, f"{_of(len(late), asked)} replies came after their deadline, one {said}."
    )


def _errors(records: Sequence[Record]) -> Verdict:
    errors = [record for record in records if record.is_server_error]
    share = len(errors) / max(1, len(records))
    kinds = sorted({f"{record.status} {record.problem}".strip() for record in errors})
    said = f"{_of(len(errors), records)} requests ({share:.1%}) ended in a server error"
    if kinds:
        said += f" ({', '.join(kinds)})"
    return Verdict("errors", share < MOST_ERRORS, f"{said}; fewer than {MOST_ERRORS:.1%} may.")


def _misses(asked: Sequence[Record]) -> Verdict:
    misses = [record for record in asked if record.fate in (Fate.MISSED, Fate.LATE)]
    share = len(misses) / max(1, len(asked))
    said = f"{_of(len(misses), asked)} questions ({share:.1%}) missed their deadline"
    return Verdict("deadline", share < MOST_MISSES, f"{said}; fewer than {MOST_MISSES:.0%} may.")


def _sheds(asked: Sequence[Record]) -> Verdict:
    sheds = [record for record in asked if record.fate is Fate.SHED]
    if not sheds:
        return Verdict("turned away", True, "Nobody was turned away.")
    said = f"{_of(len(sheds), asked)} questions were turned away; at this load none may be"
    return Verdict("turned away", False, said + ".")


def _recovered(run: Results, deadline_s: float) -> Verdict:
    """After the overload nobody is turned away, misses the deadline or meets an error."""
    after = [
        record
        for record in run.records
        if phase_at(Shape.RAMP, record.sent - run.started, run.seconds, deadline_s) is Phase.RECOVERED
    ]
    if not after:
        return Verdict(
            "recovery", False, "Nothing was asked once the overload was over: the run is too short."
        )
    bad = [record for record in after if record.fate not in (Fate.FULL, Fate.DEGRADED, Fate.REFUSED)]
    if not bad:
        return Verdict(
            "recovery", True, f"After the overload all of {len(after)} questions were answered in time."
        )
    what = f"{_of(len(bad), after)} questions after the overload still ended badly"
    return Verdict("recovery", False, f"{what}, one {bad[0].fate}.")


def _memory(url: str, samples: Samples, run: Results) -> Verdict:
    """Against the second third: the first one fills caches."""
    if len(samples) < _FEWEST_SAMPLES:
        said = f"{url} told its memory {len(samples)} times; {_FEWEST_SAMPLES} are the fewest to judge by"
        return Verdict("memory", False, said + ".")
    began, ended = samples[0][0], samples[-1][0]
    third_s = (ended - began) / 3
    middle = median(size for at, size in samples if third_s <= at - began < 2 * third_s)
    last = median(size for at, size in samples if at - began >= 2.5 * third_s)
    most = middle * (1 + MEMORY_GROWTH) + MEMORY_ALLOWANCE
    said = f"{url} held {_mib(middle)} in the middle of the run and {_mib(last)} at its end"
    return Verdict("memory", last <= most, f"{said}; up to {_mib(most)} may be.")


def _of(part: int, whole: Sequence[Record]) -> str:
    return f"{part} of {len(whole)}"


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"
