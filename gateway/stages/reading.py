"""OCR beside other stages: when it begins, and whether it ever does."""

from anyio.abc import TaskGroup

from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.stages.look import read_text
from gateway.stages.run import Ahead, Run
from gateway.state import Ask, PhotoText


def begin_reading(
    group: TaskGroup, services: Services, ask: Ask, run: Run, *, now: bool = True, ever: bool = True
) -> Ahead[PhotoText]:
    """The photo's print. Not `now`: read when somebody asks for it; not `ever`: who asks is told of none."""
    read = run.ahead(group, Stage.OCR, read_text, services, ask, otherwise=PhotoText(), now=now and ever)
    if not ever:
        read.cancel()
    return read
