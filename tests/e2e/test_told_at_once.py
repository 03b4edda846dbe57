"""The page "From silent cron to told at once" is true: what it says is typed at real processes."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from functools import partial
from pathlib import Path

from tests.alerts.receivers import Hooks, webhooks
from tests.e2e.cluster import TOKEN, Cluster, until

PAGE = Path(__file__).parents[2] / "docs" / "told-at-once.md"
BLOCKS = re.compile(r"^```(yaml|sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENDS = {"alerts list": 1}
"""Commands whose exit code is another than 0: something is bad."""


async def test_the_owner_of_a_backup_is_told_at_once(tmp_path: Path) -> None:
    settings = {"MATINS_SECRET_KEYS": "7e" * 32, "MATINS_ALERT_LOOK": "500ms"}
    async with webhooks() as hooks, Cluster(None, **settings) as cluster:
        for role in ("api", "scheduler", "executor"):
            await cluster.start(role)
        environment = os.environ | {"MATINS_URL": cluster.urls[0], "MATINS_TOKEN": TOKEN}
        told = 0
        for kind, text in BLOCKS.findall(PAGE.read_text("utf-8")):
            if kind == "yaml":
                (tmp_path / "jobs.yaml").write_text(text)
            elif kind == "sh":
                for line in text.splitlines():
                    words = shlex.split(line.replace("https://hooks.example.com/matins", hooks.url))
                    await _type(words[1:], tmp_path, environment)
            else:
                told += 1
                await until(partial(_has_come, hooks, told), 60)
                last = hooks.events[-1]["data"]["text"]
                for line in text.splitlines():
                    assert line in last, (line, last)
        assert hooks.turns == ["test", "bad", "well"]


def _has_come(hooks: Hooks, count: int) -> bool:
    """Return whether so many messages have come, beside the test."""
    return len(hooks.events) > count


async def _type(words: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Type a command of the page in a folder."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", *words),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == ENDS.get(" ".join(words[:2]), 0), (words, said.decode())
