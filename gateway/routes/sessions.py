"""`DELETE /sessions/{session_id}`."""

from fastapi import status

from chassis.http.bodies import Router
from gateway.routes.dependencies import CallerDep, GatewayDep

router = Router()


@router.delete("/sessions/{session_id}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_session(session_id: str, gateway: GatewayDep, caller: CallerDep) -> None:
    """Forget a conversation, its photo included."""
    await gateway.execution.sessions.delete(session_id, caller.tenant)
