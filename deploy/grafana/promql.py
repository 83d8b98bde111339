"""The few shapes of PromQL that the panels are made of."""

GATEWAY = 'instance=~"$gateway"'
"""Picks the gateways that the reader chose."""
WINDOW = "$__rate_interval"
"""Grafana's: at least four scrapes, wider when zoomed out."""


def rate(metric: str, labels: str = "", window: str = WINDOW) -> str:
    """How fast a counter grows, a second."""
    return f"rate({metric}{{{labels}}}[{window}])" if labels else f"rate({metric}[{window}])"


def total(expr: str, by: str = "") -> str:
    """The sum, over everything but the labels in `by`."""
    return f"sum by ({by}) ({expr})" if by else f"sum({expr})"


def per_second(metric: str, by: str = "", labels: str = "", window: str = WINDOW) -> str:
    """The sum of a counter's rates."""
    return total(rate(metric, labels, window), by)


def quantile(share: float, histogram: str, by: str = "", labels: str = "", window: str = WINDOW) -> str:
    """A quantile of a histogram, estimated within its buckets."""
    labelled = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, {per_second(f'{histogram}_bucket', labelled, labels, window)})"


def mean(histogram: str, by: str = "", labels: str = "", window: str = WINDOW) -> str:
    """What was observed, a piece."""
    sums, counts = (per_second(f"{histogram}_{what}", by, labels, window) for what in ("sum", "count"))
    return f"{sums} / {counts}"


def buckets(histogram: str, labels: str = "") -> str:
    """For a heatmap: how many fell into each bucket."""
    return f"sum by (le) (increase({histogram}_bucket{{{labels}}}[{WINDOW}]))"


def most(count: int, expr: str, by: str) -> str:
    """Of many series those that went highest in the time that is shown: the same ones all along."""
    return f"{expr} and on({by}) topk({count}, max_over_time(({expr})[$__range:] @ end()))"


def or_zero(expr: str, **labels: str) -> str:
    """0, under `labels`, while nothing of the kind has happened: an empty panel looks like a broken one."""
    none = "vector(0)"
    for name, value in labels.items():
        none = f'label_replace({none}, "{name}", "{value}", "", "")'
    return f"{expr} or on() {none}"


def share(part: str, whole: str) -> str:
    """A part of a whole; 0 where there is no whole."""
    return f"({part}) / (({whole}) > 0) or on() vector(0)"
