"""`GET /traces/{trace_id}`."""

from chassis.http.bodies import Router
from contracts.answer import Trace
from gateway.routes.dependencies import CallerDep, GatewayDep

router = Router()


@router.get("/traces/{trace_id}")
async def get_trace(trace_id: str, gateway: GatewayDep, caller: CallerDep) -> Trace:
    """What happened to one request, stage by stage."""
    return await gateway.execution.traces.get(trace_id, caller.tenant)
