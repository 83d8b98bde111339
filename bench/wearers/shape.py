"""How many wearers there are at which moment of a run."""

from enum import StrEnum


class Shape(StrEnum):
    """Steady; up to several times as many, and back; steady and long, with memory watched."""

    WEARERS = "wearers"
    RAMP = "ramp"
    SOAK = "soak"


class Phase(StrEnum):
    """Where a run is. Recovered: the ramp is over, and what it left behind has had its deadline."""

    STEADY = "steady"
    OVERLOAD = "overload"
    RECOVERING = "recovering"
    RECOVERED = "recovered"


_RISE, _PEAK, _FALL, _BACK = 0.15, 0.35, 0.6, 0.65
"""Shares of the run: when wearers begin to be more, are most, begin to leave, and are as many as before."""


def wearers_at(shape: Shape, at_s: float, seconds: float, users: int, overload: float) -> int:
    """How many are about `at_s` into a run of `seconds`; at the ramp's peak `overload` times `users`."""
    if shape is not Shape.RAMP:
        return users
    done, extra = at_s / seconds, (overload - 1) * users
    if done < _RISE or done >= _BACK:
        return users
    if done < _PEAK:
        return users + round(extra * (done - _RISE) / (_PEAK - _RISE))
    if done < _FALL:
        return users + round(extra)
    return users + round(extra * (_BACK - done) / (_BACK - _FALL))


def phase_at(shape: Shape, at_s: float, seconds: float, settle_s: float) -> Phase:
    """`settle_s`: how long what was asked in the overload may still be at work after it."""
    if shape is not Shape.RAMP or at_s < _RISE * seconds:
        return Phase.STEADY
    if at_s < _BACK * seconds:
        return Phase.OVERLOAD
    return Phase.RECOVERING if at_s < _BACK * seconds + settle_s else Phase.RECOVERED
