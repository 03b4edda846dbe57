"""Takes what running attempts tell: live output for whoever follows, and what is to be kept."""

from __future__ import annotations

from matins.domain.executors.protocol import Output, OutputAnswer
from matins.domain.ports.output import KeptOutput, LiveOutput
from matins.gateway.checks import check_output


class OutputReceiver:
    """Passes on what is live, first, and keeps the rest."""

    def __init__(self, live: LiveOutput, kept: KeptOutput) -> None:
        self._live = live
        self._kept = kept

    async def output(self, output: Output) -> OutputAnswer:
        """Take a message. Raises InvalidInputError, or UnavailableError: then what is to be kept
        must be sent again, which changes nothing for what was.
        """
        output = check_output(output)
        await self._live.append(output.live)
        if output.kept:
            await self._kept.append(output.kept)
        return OutputAnswer()
