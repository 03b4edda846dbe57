"""Pages of the documentation that are typed at real processes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT

from tests.docs.tables import DOCS
from tests.e2e.cluster import TOKEN, Cluster

MATINS = (sys.executable, "-m", "matins")
SETTINGS = {"MATINS_SECRET_KEYS": "7e" * 32, "MATINS_ALERT_LOOK": "500ms"}

_BLOCKS = re.compile(r"^```(yaml|sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the files, commands and messages of a page: their kinds and texts."""
    return _BLOCKS.findall((DOCS / page).read_text("utf-8"))


async def type_at(cluster: Cluster, words: Sequence[str], folder: Path, code: int = 0) -> str:
    """Type a command of a page in a folder; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        env=os.environ | {"MATINS_URL": cluster.urls[0], "MATINS_TOKEN": TOKEN},
        stdout=PIPE,
        stderr=STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == code, (words, output.decode())
    return output.decode()
