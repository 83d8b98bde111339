"""`GET /traces/{trace_id}`."""

from fastapi import APIRouter

from contracts.answer import Trace
from gateway.routes.dependencies import GatewayDep

router = APIRouter()


@router.get("/traces/{trace_id}")
async def get_trace(trace_id: str, gateway: GatewayDep) -> Trace:
    """What happened to one request, stage by stage."""
    return gateway.execution.traces.get(trace_id)
