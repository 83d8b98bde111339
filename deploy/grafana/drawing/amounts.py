"""Values as Grafana writes them: few digits, the unit behind."""

import math

from deploy.grafana.panels import Unit

_KIBI = 1024.0


def written(value: float, unit: Unit, decimals: int | None = None) -> str:
    """`1.2 s`, `340 ms`, `98.2 %`, `2.73 GiB`; a dash for what is not there."""
    if math.isnan(value):
        return "–"
    match unit:
        case Unit.SECONDS:
            return _seconds(value, decimals)
        case Unit.SHARE:
            return f"{_digits(100 * value, decimals)} %"
        case Unit.BYTES:
            return _bytes(value)
        case Unit.PER_SECOND | Unit.OPS:
            return f"{_digits(value, decimals)}/s"
        case Unit.TIMES:
            return f"{_digits(value, decimals)} ×"
        case _:
            return _digits(value, decimals)


def _seconds(value: float, decimals: int | None) -> str:
    size = abs(value)
    if size >= 120:
        return f"{value / 60:.3g} min"
    if size >= 1 or size == 0:
        return f"{_digits(value, None if decimals is None else min(decimals, 2))} s"
    if size >= 0.001:
        return f"{value * 1000:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def _bytes(value: float) -> str:
    for name in ("B", "KiB", "MiB"):
        if abs(value) < _KIBI:
            return f"{value:.3g} {name}"
        value /= _KIBI
    return f"{value:.3g} GiB"


def _digits(value: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{value:,.{decimals}f}"
    if abs(value) >= 1000:
        return f"{value / 1000:,.3g} k" if abs(value) < 1_000_000 else f"{value / 1_000_000:,.3g} M"
    return f"{value:.3g}" if abs(value) >= 0.01 or value == 0 else f"{value:.1g}"
