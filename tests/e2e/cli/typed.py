"""Commands typed at an API that is served in this process, on real PostgreSQL and Valkey."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from matins.cli.app import run


class Ran(msgspec.Struct):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as one JSON document."""
        return json.loads(self.out)


class Typist:
    """Types commands; each runs in a thread, as it has an event loop of its own."""

    def __init__(self, printed: pytest.CaptureFixture[str]) -> None:
        self._printed = printed

    async def __call__(self, *words: str) -> Ran:
        self._printed.readouterr()
        code = await asyncio.to_thread(run, words)
        shown = self._printed.readouterr()
        return Ran(code, shown.out, shown.err)
