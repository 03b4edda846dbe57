"""Commands as processes, typed where a cluster runs."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.e2e.cluster import TOKEN, Cluster


async def type_command(
    cluster: Cluster, *words: str, folder: Path | None = None
) -> tuple[int | None, str]:
    """Type a command, of Matins at the first API or another; return its exit code and all that it
    printed.
    """
    if words[0] == "matins":
        words = (sys.executable, "-P", "-m", *words)
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        env=os.environ | {"MATINS_URL": cluster.urls[0], "MATINS_TOKEN": TOKEN},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()
