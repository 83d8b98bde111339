"""Rows of the overview: what load and faults do to the door, to answers, and to the services."""

from deploy.grafana.boards.conventions import DEADLINE_S, REASONS, SERVICE_COLOURS
from deploy.grafana.panels import GREEN, ORANGE, RED, Kind, Panel, Query, Row, Threshold, Unit
from deploy.grafana.promql import GATEWAY, most, or_zero, per_second, total

_ASKED = "loreglass_questions_total"
_SECONDS = "loreglass_question_seconds"
_DOORS = f'{GATEWAY},job="gateway",route=~"/answer|/v1/chat/completions"'
_ABSTAINED = per_second(_ASKED, "reason", f'{GATEWAY},reason!~"answered|overloaded|failed|left"')
_LATE = f'{GATEWAY},kind="late"'

DOOR = Row(
    "At the door",
    (
        Panel(
            "Queue",
            Kind.TIMESERIES,
            "Tier `full` has the model; `degraded` quotes the evidence for those for whom the model has no"
            " time. In flight at its limit with a growing queue: scale out, or shed earlier.",
            (
                Query(f"sum by (tier) (loreglass_admission_in_flight{{{GATEWAY}}})", "{{tier}} at work"),
                Query(f"sum by (tier) (loreglass_admission_waiting{{{GATEWAY}}})", "{{tier}} waiting"),
            ),
            width=5,
            steps=True,
        ),
        Panel(
            "Oldest in the queue",
            Kind.TIMESERIES,
            "How long the one who has waited longest has waited. What waits here is missing from the"
            " deadline.",
            (Query(f"max by (tier) (loreglass_admission_oldest_wait_seconds{{{GATEWAY}}})", "{{tier}}"),),
            Unit.SECONDS,
            width=4,
            thresholds=(Threshold(DEADLINE_S / 2, RED),),
            alert="questions-wait-long",
        ),
        Panel(
            "Not let in",
            Kind.TIMESERIES,
            "By tier and why. Who is refused by `full` tries `degraded`: only refusals by the last tier"
            " reach users.",
            (
                Query(
                    or_zero(
                        per_second("loreglass_admission_refused_total", "tier, reason", GATEWAY),
                        tier="all",
                        reason="none",
                    ),
                    "{{tier}}: {{reason}}",
                ),
            ),
            Unit.PER_SECOND,
            width=5,
            stacked=True,
        ),
        Panel(
            "Refused on the wire",
            Kind.TIMESERIES,
            "Refused before they were read: headers or addresses without end, half-sent requests,"
            " trickling bodies, replies that nobody takes; `gave_way`: idle ones closed for new ones.",
            (
                Query(
                    or_zero(
                        per_second("loreglass_connections_refused_total", "service, reason"),
                        service="all",
                        reason="none",
                    ),
                    "{{service}}: {{reason}}",
                ),
            ),
            Unit.PER_SECOND,
            width=12,
            stacked=True,
        ),
        Panel(
            "Connections and uploads",
            Kind.TIMESERIES,
            "Open connections, and MiB of request bodies held or declared; both are bounded.",
            (
                Query("max by (service) (loreglass_connections)", "{{service}}: connections"),
                Query("max by (service) (loreglass_upload_bytes) / 1048576", "{{service}}: MiB"),
            ),
            width=12,
        ),
        Panel(
            "Over quota",
            Kind.TIMESERIES,
            "Requests that were refused with 429 because their tenant asked more a minute, or more at once,"
            " than it may. Which tenant: questions by tenant.",
            (
                Query(
                    or_zero(per_second("loreglass_quota_exceeded_total", "quota", GATEWAY), quota="none"),
                    "{{quota}}",
                ),
            ),
            Unit.PER_SECOND,
            width=5,
            stacked=True,
        ),
        Panel(
            "Deadlines missed",
            Kind.TIMESERIES,
            "refused: said in time that the time was too short; late: answered after the deadline, which"
            " should never be: look for a stage that does not keep to its timeout (latency budget).",
            (Query(per_second("loreglass_deadline_misses_total", "kind", GATEWAY), "{{kind}}"),),
            Unit.PER_SECOND,
            width=5,
            colours={"late": RED, "refused": ORANGE},
            stacked=True,
            alert="deadline-budget-burns-fast",
        ),
        Panel(
            "Questions by tenant",
            Kind.TIMESERIES,
            "The eight tenants who ask most; `public` without keys. One that grows alone is who waits, by"
            " fairness, when there is too little room.",
            (
                Query(
                    most(8, per_second("loreglass_tenant_questions_total", "tenant", GATEWAY), "tenant"),
                    "{{tenant}}",
                ),
            ),
            Unit.PER_SECOND,
            width=5,
            stacked=True,
            alert="sheds-last",
        ),
    ),
)

QUALITY = Row(
    "What answers were made without",
    (
        Panel(
            "Degradations",
            Kind.TIMESERIES,
            "Stages that failed and cuts of the plan, by name, an answer each (the order of cuts: latency"
            " budget). Many cuts: the node is busy. A stage's name: that service is ill.",
            (
                Query(
                    or_zero(per_second("loreglass_degraded_total", "kind", GATEWAY), kind="nothing"),
                    "{{kind}}",
                ),
            ),
            Unit.PER_SECOND,
            width=8,
            stacked=True,
        ),
        Panel(
            "Abstentions",
            Kind.TIMESERIES,
            "Shares of the questions that ended without an answer, by reason. A jump with steady traffic:"
            " an index was changed, a service is down, or the model is.",
            (
                Query(
                    f"{_ABSTAINED} / on() group_left() ({per_second(_ASKED, '', GATEWAY)} > 0)",
                    "{{reason}}",
                ),
            ),
            Unit.SHARE,
            width=8,
            colours=REASONS,
            stacked=True,
            maximum=1,
            alert="abstention-jump",
        ),
        Panel(
            "Domains asked about",
            Kind.TIMESERIES,
            "What the domain router takes the questions for; a change of the mix explains a change of the"
            " times.",
            (Query(per_second("loreglass_domains_total", "domain", GATEWAY), "{{domain}}"),),
            Unit.PER_SECOND,
            width=8,
            stacked=True,
        ),
    ),
)

SERVICES = Row(
    "Services",
    (
        Panel(
            "Up",
            Kind.TIMELINE,
            "Whether Prometheus reaches each app's /metrics.",
            (Query("min by (job) (up)", "{{job}}"),),
            width=6,
            height=9,
            states={1: ("up", GREEN), 0: ("down", RED)},
            alert="service-down",
        ),
        Panel(
            "Breakers",
            Kind.TIMELINE,
            "Open: calls to it are refused at once because it kept failing; answers go on without it. Look"
            " at that service's log and its /health/ready.",
            (
                Query(
                    or_zero(f"max by (dependency) (loreglass_breaker_open{{{GATEWAY}}})", dependency="none"),
                    "{{dependency}}",
                ),
            ),
            width=6,
            height=9,
            states={0: ("closed", GREEN), 1: ("open", RED)},
            alert="breaker-open",
        ),
        Panel(
            "Calls that did not succeed",
            Kind.TIMESERIES,
            "The gateway's calls by dependency and how they ended, and those made again. What a breaker"
            " and a retry saw.",
            (
                Query(
                    or_zero(
                        per_second(
                            "loreglass_calls_total",
                            "dependency, outcome",
                            f'{GATEWAY},outcome!~"done|cut_short"',
                        ),
                        dependency="all",
                        outcome="well",
                    ),
                    "{{dependency}} {{outcome}}",
                ),
                Query(
                    or_zero(per_second("loreglass_retries_total", "", GATEWAY)),
                    "made again",
                ),
            ),
            Unit.PER_SECOND,
            width=6,
            height=9,
        ),
        Panel(
            "Requests by service",
            Kind.TIMESERIES,
            "All routes but health and metrics.",
            (
                Query(
                    per_second("loreglass_requests_total", "service", 'route!~"/health/.*|/metrics|/info"'),
                    "{{service}}",
                ),
            ),
            Unit.PER_SECOND,
            width=6,
            height=9,
            colours=SERVICE_COLOURS,
            stacked=True,
        ),
        Panel(
            "Errors by route",
            Kind.TABLE,
            "Replies of 429 and 5xx in the last 15 minutes. 503 is a shed or a dependency that is down, 504 a"
            " deadline that had passed: the service stops work that nobody waits for.",
            (
                Query(
                    or_zero(
                        total(
                            'increase(loreglass_requests_total{status=~"429|5.."}[15m])',
                            "service, route, status",
                        ),
                        service="all",
                        route="–",
                        status="well",
                    ),
                    "replies",
                ),
            ),
            width=12,
            height=9,
            decimals=0,
            sort_by="replies",
            columns=("service", "route", "status"),
            thresholds=(Threshold(1, ORANGE),),
            base="text",
        ),
        Panel(
            "Versions",
            Kind.TABLE,
            "What runs. Two versions of one service outside a rollout: one of them did not restart.",
            (Query("count by (service, version, engine, device) (loreglass_build_info)", "processes"),),
            width=12,
            height=9,
            decimals=0,
            sort_by="service",
            columns=("service", "version", "engine", "device"),
            base="text",
        ),
    ),
)
