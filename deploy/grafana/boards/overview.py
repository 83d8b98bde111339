"""The dashboard that whoever is on call opens first: is it well, and if not, since when and where?"""

from deploy.grafana.boards.conventions import (
    DEADLINE_S,
    GATEWAYS,
    REASONS,
    ROUTES,
    SLO_AVAILABLE,
    SLO_IN_TIME,
)
from deploy.grafana.boards.strain import DOOR, QUALITY, SERVICES
from deploy.grafana.panels import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    YELLOW,
    Dashboard,
    Kind,
    Panel,
    Query,
    Row,
    Threshold,
    Unit,
)
from deploy.grafana.promql import GATEWAY, buckets, or_zero, per_second, quantile, share

_ASKED = "loreglass_questions_total"
_SECONDS = "loreglass_question_seconds"
_DOORS = f'{GATEWAY},job="gateway",route=~"/answer|/v1/chat/completions"'
_ABSTAINED = per_second(_ASKED, "reason", f'{GATEWAY},reason!~"answered|overloaded|failed|left"')
_LATE = f'{GATEWAY},kind="late"'


def _missed(window: str) -> str:
    misses = per_second("loreglass_deadline_misses_total", "", GATEWAY, window)
    return share(misses, per_second(_ASKED, "", f'{GATEWAY},reason!="left"', window))


def _failing(window: str) -> str:
    wrong = per_second("loreglass_requests_total", "", f'{_DOORS},status=~"5..",status!="503"', window)
    return share(or_zero(wrong), per_second("loreglass_requests_total", "", _DOORS, window))


def _goodput(window: str = "$__rate_interval") -> str:
    answered = per_second(_ASKED, "", f'{GATEWAY},reason="answered"', window)
    return f"{answered} - ({or_zero(per_second('loreglass_deadline_misses_total', '', _LATE, window))})"


def _stat(title: str, query: str, unit: Unit, description: str, *limits: Threshold, **more: object) -> Panel:
    return Panel(
        title=title,
        kind=Kind.STAT,
        description=description,
        queries=(Query(query, title),),
        unit=unit,
        width=3,
        height=4,
        thresholds=limits,
        **more,  # type: ignore[arg-type]
    )


_NOW = Row(
    "Now",
    (
        _stat(
            "Questions",
            per_second(_ASKED, "", GATEWAY),
            Unit.PER_SECOND,
            "Questions that ended, a second, in whichever way. None at all is no alert: look whether"
            " clients reach us.",
            base=BLUE,
        ),
        _stat(
            "Goodput",
            _goodput(),
            Unit.PER_SECOND,
            "Answered within the deadline, a second. When it falls while questions do not, see what they"
            " end in.",
        ),
        _stat(
            "In time, last hour",
            f"1 - ({_missed('1h')})",
            Unit.SHARE,
            "Answered, or refused for another reason than time, within the deadline. The objective is 99 %.",
            Threshold(SLO_IN_TIME, GREEN),
            base=RED,
            decimals=2,
            alert="deadline-budget-burns-fast",
        ),
        _stat(
            "Available, last hour",
            f"1 - ({_failing('1h')})",
            Unit.SHARE,
            "Requests to /answer and /v1/chat/completions without a 5xx. Sheds (503, with Retry-After) are"
            " counted apart. The objective is 99.5 %.",
            Threshold(SLO_AVAILABLE, GREEN),
            base=RED,
            decimals=2,
            alert="availability-budget-burns-fast",
        ),
        _stat(
            "Burn rate, 5 min",
            f"({_missed('5m')}) / {1 - SLO_IN_TIME:.2f}",
            Unit.TIMES,
            "How many times faster than allowed the month's budget of deadline misses is spent. 1 is what the"
            " objective allows; 14.4 spends it in two days and pages.",
            Threshold(1, YELLOW),
            Threshold(6, ORANGE),
            Threshold(14.4, RED),
            decimals=1,
        ),
        _stat(
            "95 % within",
            quantile(0.95, _SECONDS, "", GATEWAY),
            Unit.SECONDS,
            "Nineteen of twenty questions take no longer. The deadline is 10 s unless the caller says"
            " otherwise.",
            Threshold(0.7 * DEADLINE_S, YELLOW),
            Threshold(DEADLINE_S, RED),
            decimals=2,
        ),
        _stat(
            "Alerts",
            or_zero('count(ALERTS{alertstate="firing"})'),
            Unit.NUMBER,
            "Alerts that fire now; Alerting in the menu, or Prometheus' /alerts, names them. Each has a"
            " paragraph in the runbook.",
            Threshold(1, RED),
        ),
        _stat(
            "Down",
            or_zero("count(up == 0)"),
            Unit.NUMBER,
            "Targets that could not be scraped. Answers go on without most of them, but worse.",
            Threshold(1, RED),
            alert="service-down",
        ),
    ),
)

_TRAFFIC = Row(
    "Traffic",
    (
        Panel(
            "How questions end",
            Kind.TIMESERIES,
            "Every question ends in exactly one way. Abstentions (unsure, unsupported, no evidence) are"
            " honest; timed_out and overloaded mean too little time or room; failed is a fault of ours;"
            " left: the caller went.",
            (Query(per_second(_ASKED, "reason", GATEWAY), "{{reason}}"),),
            Unit.PER_SECOND,
            colours=REASONS,
            stacked=True,
        ),
        Panel(
            "Asked, answered in time, shed",
            Kind.TIMESERIES,
            "The distance between asked and answered in time is what users do not get. Sheds are told at"
            " once, with a time to come back.",
            (
                Query(per_second(_ASKED, "", GATEWAY), "asked"),
                Query(_goodput(), "answered in time"),
                Query(per_second(_ASKED, "", f'{GATEWAY},reason="overloaded"'), "shed"),
            ),
            Unit.PER_SECOND,
            colours={"asked": BLUE, "answered in time": GREEN, "shed": YELLOW},
        ),
        Panel(
            "By route",
            Kind.TIMESERIES,
            "direct: the photo answers it; verify: checked by one search; rag: from evidence. `none`: refused"
            " before a route was chosen. More rag than usual costs more of the card a question.",
            (Query(per_second(_ASKED, "route", GATEWAY), "{{route}}"),),
            Unit.PER_SECOND,
            colours=ROUTES,
            stacked=True,
        ),
    ),
)

_LATENCY = Row(
    "Time",
    (
        Panel(
            "Time to the whole answer",
            Kind.TIMESERIES,
            "Quantiles of all questions. Near the deadline the gateway cuts work (see degradations) before"
            " it is late. The points are single questions: their trace id opens /traces/ID.",
            (
                Query(quantile(0.5, _SECONDS, "", GATEWAY), "half"),
                Query(quantile(0.95, _SECONDS, "", GATEWAY), "95 %"),
                Query(quantile(0.99, _SECONDS, "", GATEWAY), "99 %", exemplars=True),
            ),
            Unit.SECONDS,
            thresholds=(Threshold(DEADLINE_S, RED),),
            colours={"half": GREEN, "95 %": YELLOW, "99 %": ORANGE},
        ),
        Panel(
            "Spread of the times",
            Kind.HEATMAP,
            "Each column: how many questions took how long. Two bands are two kinds of question, not an"
            " average one.",
            (Query(buckets(_SECONDS, GATEWAY), "{{le}}"),),
            Unit.SECONDS,
        ),
        Panel(
            "Burn rate of the deadline budget",
            Kind.TIMESERIES,
            "Misses as multiples of what 99 % in time allows. A page needs a long and a short window over"
            " 14.4 (1 h and 5 min) or 6 (6 h and 30 min): then start with the panels beneath.",
            tuple(
                Query(f"({_missed(window)}) / {1 - SLO_IN_TIME:.2f}", window)
                for window in ("5m", "30m", "1h", "6h")
            ),
            Unit.TIMES,
            thresholds=(Threshold(1, YELLOW), Threshold(6, ORANGE), Threshold(14.4, RED)),
            colours={"5m": BLUE, "30m": "#8ab8ff", "1h": PURPLE, "6h": GREY},
            alert="deadline-budget-burns-fast",
        ),
    ),
)

OVERVIEW = Dashboard(
    uid="loreglass-overview",
    title="Loreglass: overview",
    description="Is it well, and if not, since when and where? For whoever is on call.",
    rows=(_NOW, _TRAFFIC, _LATENCY, DOOR, QUALITY, SERVICES),
    variables=(GATEWAYS,),
)
