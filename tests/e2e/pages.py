"""Pages of the documentation that are typed at real processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.docs.tables import DOCS
from tests.e2e.cluster import Cluster
from tests.e2e.commands import type_command

SETTINGS = {"MATINS_SECRET_KEYS": "7e" * 32, "MATINS_ALERT_LOOK": "500ms"}

_BLOCKS = re.compile(r"^```(yaml|sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the files, commands and messages of a page: their kinds and texts."""
    return _BLOCKS.findall((DOCS / page).read_text("utf-8"))


async def type_at(cluster: Cluster, words: Sequence[str], folder: Path, code: int = 0) -> str:
    """Type a command of a page in a folder; return what it prints."""
    ended_with, output = await type_command(cluster, *words, folder=folder)
    assert ended_with == code, (words, output)
    return output
