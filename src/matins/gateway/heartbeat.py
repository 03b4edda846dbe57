"""Hears executors' heartbeats, and tells them what they must stop."""

from __future__ import annotations

from matins.domain.executors.protocol import Heartbeat, HeartbeatAnswer
from matins.domain.ports import Dispatch
from matins.gateway.checks import check_heartbeat


class HeartbeatReceiver:
    """Passes a checked heartbeat on; what is held is compared with the rows by the store."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Note a sign of life. Raises InvalidInputError, UnavailableError."""
        check_heartbeat(heartbeat)
        return await self._dispatch.heartbeat(heartbeat)
