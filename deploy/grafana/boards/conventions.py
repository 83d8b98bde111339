"""What all dashboards agree on: the choice of gateways, objectives, and colours of things by their name."""

from deploy.grafana.panels import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW, Variable
from gateway.planning.stages import Stage
from gateway.settings import GatewaySettings

GATEWAYS = Variable("gateway", "Gateway", 'label_values(loreglass_questions_total{job="gateway"}, instance)')
DEADLINE_S = float(GatewaySettings.model_fields["answer_deadline_ms"].default) / 1000
SLO_IN_TIME, SLO_AVAILABLE = 0.99, 0.995
REASONS = {
    "answered": GREEN,
    "model_unsure": BLUE,
    "unsupported": PURPLE,
    "no_evidence": "#8ab8ff",
    "timed_out": ORANGE,
    "overloaded": YELLOW,
    "unavailable": "#ca95e5",
    "nothing_indexed": "#c0d8ff",
    "language": "#96d98d",
    "needs_photo": "#37872d",
    "not_heard": "#ffb357",
    "failed": RED,
    "left": GREY,
}
ROUTES = {"direct": GREEN, "verify": BLUE, "rag": PURPLE, "none": GREY}
# fmt: off
_PALETTE = (
    "#73bf69", "#5794f2", "#b877d9", "#ff9830", "#f2495c", "#f2cc0c", "#8ab8ff", "#96d98d",
    "#ca95e5", "#ffb357", "#ff7383", "#ffee52", "#37872d", "#1f60c4", "#8f3bb8", "#e02f44",
    "#e0b400", "#fa6400", "#3274d9", "#56a64b", "#a352cc", "#c4162a", "#cca300", "#7b8087",
    "#c0d8ff", "#fade2a", "#dc7fff", "#19730e", "#ad0317", "#8ab8a0", "#e24d42", "#65c5db",
)
# fmt: on
STAGE_COLOURS = {stage.value: colour for stage, colour in zip(Stage, _PALETTE, strict=True)}
SERVICE_COLOURS = {**STAGE_COLOURS, "reader": "#00a39b"}
"""A service is called as the stage that asks it, but for the reader, whom several ask."""
