"""How pictures of dashboards write amounts and name series."""

import math

import pytest

from deploy.grafana.drawing.amounts import written
from deploy.grafana.drawing.source import View, name_of
from deploy.grafana.panels import Unit
from deploy.grafana.promql import or_zero, quantile


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        (0.0004, Unit.SECONDS, None, "400 µs"),
        (0.34, Unit.SECONDS, None, "340 ms"),
        (1.2, Unit.SECONDS, None, "1.2 s"),
        (1.234, Unit.SECONDS, 3, "1.23 s"),
        (600, Unit.SECONDS, None, "10 min"),
        (0.9876, Unit.SHARE, 2, "98.76 %"),
        (0.2, Unit.SHARE, None, "20 %"),
        (3 * 2**30, Unit.BYTES, None, "3 GiB"),
        (846 * 2**20, Unit.BYTES, None, "846 MiB"),
        (12_345, Unit.OPS, None, "12.3 k/s"),
        (2.5, Unit.PER_SECOND, None, "2.5/s"),
        (14.4, Unit.TIMES, 1, "14.4 ×"),
        (7, Unit.NUMBER, 0, "7"),
        (math.nan, Unit.NUMBER, None, "–"),
    ],
)
def test_amounts_have_few_digits_and_a_unit(
    value: float, unit: Unit, decimals: int | None, text: str
) -> None:
    assert written(value, unit, decimals) == text


def test_series_are_named_by_their_labels() -> None:
    assert name_of("{{stage}} of {{ route }}", {"stage": "ocr", "route": "rag"}) == "ocr of rag"
    assert name_of("{{detail}}", {}) == "value"


def test_variables_stand_for_all_unless_the_reader_chose() -> None:
    expr = quantile(0.95, "seconds", "stage", 'instance=~"$gateway",route=~"$route"')
    told = View("http://none", variables={"gateway": "l40s"}, scrape_s=15).promql(expr)
    assert told == (
        "histogram_quantile(0.95, sum by (le, stage) "
        '(rate(seconds_bucket{instance=~"l40s",route=~".*"}[60s])))'
    )


def test_the_zero_that_stands_in_has_the_labels_of_what_it_stands_for() -> None:
    assert or_zero("sum by (a) (x)", a="none") == (
        'sum by (a) (x) or on() label_replace(vector(0), "a", "none", "", "")'
    )
