"""The latency budget: where each millisecond goes, by route and stage, against what it was allotted."""

from deploy.grafana.boards.beneath import BENEATH
from deploy.grafana.boards.conventions import DEADLINE_S, GATEWAYS, ROUTES, STAGE_COLOURS
from deploy.grafana.panels import (
    GREEN,
    RED,
    YELLOW,
    Dashboard,
    Kind,
    Panel,
    Query,
    Row,
    Threshold,
    Unit,
    Variable,
)
from deploy.grafana.promql import GATEWAY, buckets, mean, most, or_zero, per_second, quantile

_QUESTION = "loreglass_question_seconds"
_STAGE = "loreglass_stage_seconds"
_CHOSEN = f'{GATEWAY},route=~"$route"'
_ROUTES = Variable("route", "Route", "label_values(loreglass_question_seconds_count, route)")


def _per_question(route: str) -> str:
    """Mean seconds of each stage in one question of the route; a stage that ran beside another counts too."""
    of_route = f'{GATEWAY},route="{route}"'
    asked = per_second(f"{_QUESTION}_count", "", of_route)
    return f"{per_second(f'{_STAGE}_sum', 'stage', of_route)} / scalar({asked} > 0)"


def _breakdown(route: str, what: str) -> Panel:
    return Panel(
        f"{route}: a question's time by stage",
        Kind.TIMESERIES,
        f"{what} Means of each stage, stacked. Stages that run side by side are stacked too, so the stack"
        " is higher than the question takes (white line) by what was saved by that.",
        (
            Query(or_zero(_per_question(route), stage="none"), "{{stage}}"),
            Query(or_zero(mean(_QUESTION, "", f'{GATEWAY},route="{route}"')), "whole question"),
        ),
        Unit.SECONDS,
        height=10,
        colours={**STAGE_COLOURS, "whole question": "#ffffff"},
        stacked=True,
    )


_STAGES = Row(
    "Where each millisecond goes",
    (
        _breakdown("direct", "The photo alone answers it."),
        _breakdown("verify", "The draft, checked by one search."),
        _breakdown("rag", "Search, rerank, answer, verify."),
        Panel(
            "Whole questions by route",
            Kind.TIMESERIES,
            "Half and 95 % of the questions of each route. Points are single questions, by trace id.",
            (
                Query(quantile(0.5, _QUESTION, "route", _CHOSEN), "{{route}} half"),
                Query(quantile(0.95, _QUESTION, "route", _CHOSEN), "{{route}} 95 %", exemplars=True),
            ),
            Unit.SECONDS,
            thresholds=(Threshold(DEADLINE_S, RED),),
            colours={
                **{f"{route} half": colour for route, colour in ROUTES.items()},
                **{
                    f"{route} 95 %": colour
                    for route, colour in {"direct": "#37872d", "verify": "#1f60c4", "rag": "#8f3bb8"}.items()
                },
            },
        ),
        Panel(
            "Waiting to be let in",
            Kind.HEATMAP,
            "How long questions waited at the door before their first stage. This is the time that load"
            " takes; the stages' own times hardly change.",
            (Query(buckets(_STAGE, f'{GATEWAY},stage="admission"'), "{{le}}"),),
            Unit.SECONDS,
        ),
        Panel(
            "Reading the photo at the door",
            Kind.TIMESERIES,
            "Decoding, turning upright and shrinking the photo, before any stage. Slow when the gateway's"
            " CPU is short: give it another core or another replica.",
            (
                Query(quantile(0.5, "loreglass_photo_decode_seconds", "", GATEWAY), "half"),
                Query(quantile(0.95, "loreglass_photo_decode_seconds", "", GATEWAY), "95 %", exemplars=True),
            ),
            Unit.SECONDS,
            colours={"half": GREEN, "95 %": YELLOW},
        ),
        Panel(
            "Decoders ended",
            Kind.TIMESERIES,
            "Processes that decode photos and sound, by why they are no more. `cpu` and `clock`: a file that"
            " was too much work; `died`: it crashed, or memory was short; `left`, `late`: nobody waited.",
            (
                Query(
                    per_second("loreglass_decoder_ended_total", "what, reason", GATEWAY),
                    "{{what}}: {{reason}}",
                ),
            ),
            Unit.PER_SECOND,
            stacked=True,
        ),
    ),
)

_ALLOTMENT = Row(
    "Against the allotment",
    (
        Panel(
            "Stages against their budgets",
            Kind.TABLE,
            "Of the last 5 minutes: what half and 95 % of the calls took, what planning believes a call"
            " takes on an idle node at present, and the most it may take. Half far above `believed`: the"
            " node is loaded, or the latency table does not fit it.",
            (
                Query(quantile(0.5, _STAGE, "stage", _CHOSEN, "5m"), "half"),
                Query(quantile(0.95, _STAGE, "stage", _CHOSEN, "5m"), "95 %"),
                Query(f"max by (stage) (loreglass_stage_expected_seconds{{{GATEWAY}}})", "believed"),
                Query(f"max by (stage) (loreglass_stage_cap_seconds{{{GATEWAY}}})", "at most"),
                Query(
                    f"{quantile(0.95, _STAGE, 'stage', _CHOSEN, '5m')} / on(stage)"
                    f" max by (stage) (loreglass_stage_cap_seconds{{{GATEWAY}}})",
                    "95 % of at most",
                    unit=Unit.SHARE,
                ),
            ),
            Unit.SECONDS,
            width=12,
            height=14,
            decimals=3,
            sort_by="95 % of at most",
            columns=("stage",),
            base="text",
        ),
        Panel(
            "How full the budgets are",
            Kind.BAR_GAUGE,
            "The 95 % quantile of each stage as a share of its cap, last 5 minutes. At 100 % the stage is"
            " cut off and done without.",
            (
                Query(
                    f"{quantile(0.95, _STAGE, 'stage', _CHOSEN, '5m')} / on(stage)"
                    f" max by (stage) (loreglass_stage_cap_seconds{{{GATEWAY}}}) >= 0",
                    "{{stage}}",
                ),
            ),
            Unit.SHARE,
            width=6,
            height=14,
            thresholds=(Threshold(0.5, YELLOW), Threshold(0.8, RED)),
            maximum=1.0,
        ),
        Panel(
            "How stages end otherwise",
            Kind.TIMESERIES,
            "failed: see the detail (deadline_exceeded: cut off at its budget); cancelled: speculative"
            " work that was not needed; skipped: cut from the plan.",
            (
                Query(
                    or_zero(
                        per_second("loreglass_stages_total", "state, detail", f'{GATEWAY},state!="done"'),
                        state="none",
                        detail="",
                    ),
                    "{{state}} {{detail}}",
                ),
            ),
            Unit.PER_SECOND,
            width=6,
            height=14,
            stacked=True,
        ),
        Panel(
            "What fails",
            Kind.TIMESERIES,
            "Failed stages by name; each is also a degradation of the answer. 0: none.",
            (
                Query(
                    or_zero(
                        per_second("loreglass_stages_total", "stage", f'{GATEWAY},state="failed"'),
                        stage="none",
                    ),
                    "{{stage}}",
                ),
            ),
            Unit.PER_SECOND,
            width=8,
            height=10,
            colours=STAGE_COLOURS,
            stacked=True,
        ),
        Panel(
            "95 % of the slowest stages",
            Kind.TIMESERIES,
            "The six that took longest in the time shown, over the routes chosen above. A step in one line"
            " with the others level: that service. All stages are in the table.",
            (Query(most(6, quantile(0.95, _STAGE, "stage", _CHOSEN), "stage"), "{{stage}}", exemplars=True),),
            Unit.SECONDS,
            width=8,
            height=10,
            colours=STAGE_COLOURS,
            logarithmic=True,
            minimum=None,
        ),
        Panel(
            "Median over what planning believes",
            Kind.TIMESERIES,
            "The six that went furthest above. 1: the stage takes what the planner counts with on an idle"
            " node. Above: load, which the planner knows of by how many are in flight. Below 1 for long: the"
            " latency table is too slow for this node.",
            (
                Query(
                    most(
                        6,
                        f"({quantile(0.5, _STAGE, 'stage', GATEWAY)} / on(stage)"
                        f" (max by (stage) (loreglass_stage_expected_seconds{{{GATEWAY}}}) > 0))",
                        "stage",
                    ),
                    "{{stage}}",
                ),
            ),
            Unit.TIMES,
            width=8,
            height=10,
            thresholds=(Threshold(2, YELLOW),),
            colours=STAGE_COLOURS,
            logarithmic=True,
            minimum=None,
        ),
    ),
)

LATENCY = Dashboard(
    uid="loreglass-latency",
    title="Loreglass: latency budget",
    description="Where each millisecond goes, by route and stage, against its allotment.",
    rows=(_STAGES, _ALLOTMENT, BENEATH),
    variables=(GATEWAYS, _ROUTES),
)
