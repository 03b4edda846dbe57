"""The page "From silent cron to told at once" is true: what it says is typed at real processes."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

from tests.alerts.receivers import Hooks, webhooks
from tests.e2e.cluster import Cluster, until
from tests.e2e.pages import SETTINGS, blocks, type_at

ENDS = {"alerts list": 1}
"""Commands whose exit code is another than 0: something is bad."""


async def test_the_owner_of_a_backup_is_told_at_once(tmp_path: Path) -> None:
    async with webhooks() as hooks, Cluster(None, **SETTINGS) as cluster:
        for role in ("api", "scheduler", "executor"):
            await cluster.start(role)
        messages = 0
        for kind, text in blocks("told-at-once.md"):
            if kind == "yaml":
                (tmp_path / "jobs.yaml").write_text(text)
            elif kind == "sh":
                for line in text.splitlines():
                    words = shlex.split(line.replace("https://hooks.example.com/matins", hooks.url))
                    code = ENDS.get(" ".join(words[1:3]), 0)
                    await type_at(cluster, words, tmp_path, code)
            else:
                messages += 1
                await until(partial(_has_come, hooks, messages), 60)
                last = hooks.events[-1]["data"]["text"]
                for line in text.splitlines():
                    assert line in last, (line, last)
        assert hooks.turns == ["test", "bad", "well"]


def _has_come(hooks: Hooks, count: int) -> bool:
    """Return whether so many messages have come, beside the test."""
    return len(hooks.events) > count
