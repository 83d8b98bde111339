"""`GET /traces/{trace_id}`."""

from fastapi import APIRouter

from contracts.answer import Trace
from gateway.routes.dependencies import CallerDep, GatewayDep

router = APIRouter()


@router.get("/traces/{trace_id}")
async def get_trace(trace_id: str, gateway: GatewayDep, caller: CallerDep) -> Trace:
    """What happened to one request, stage by stage."""
    return await gateway.execution.traces.get(trace_id, caller.tenant)
