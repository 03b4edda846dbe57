"""The page on check-ins is true: its commands are typed at real processes, with a real curl."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

from tests.alerts.receivers import Hooks, webhooks
from tests.e2e.cluster import Cluster, until
from tests.e2e.commands import type_command
from tests.e2e.pages import SETTINGS, blocks, type_at

URL = re.compile(r"^url: (\S+) ", re.MULTILINE)


async def test_what_something_else_runs_is_watched(tmp_path: Path) -> None:
    async with webhooks() as hooks, Cluster(None, **SETTINGS) as cluster:
        await cluster.start("api")
        typed = partial(type_at, cluster, folder=tmp_path)
        await typed(["matins", "channels", "add", "ops/oncall", "--webhook", hooks.url])
        urls: list[str] = []
        for kind, text in blocks("check-ins.md"):
            if kind == "yaml":
                (tmp_path / "jobs.yaml").write_text(text)
                continue
            for line in text.splitlines():
                words = shlex.split(line.replace("$URL", urls[-1] if urls else "$URL"))
                output = await typed(words)
                urls += URL.findall(output)
                if " checkins add " in line:  # what fails before it is watched nobody is told of
                    await until(partial(cluster.value, "SELECT count(*) = 1 FROM watches"), 60)
                if "no space" in line:  # before it succeeds again
                    await until(partial(_has_come, hooks, 1), 60)
        assert len(urls) == 2  # of `add`, and of `rotate`
        await until(partial(_has_come, hooks, 2), 60)
        assert hooks.turns == ["bad", "well"]
        assert "no space left on device" in hooks.events[0]["data"]["text"]
        for url in urls:  # in no log, also where it is refused
            assert (await type_command(cluster, "curl", "-fsS", url))[0] == 22
            assert cluster.roles[0].said(url.rpartition("/")[2]) == 0


async def _has_come(hooks: Hooks, count: int) -> bool:
    return len(hooks.events) >= count
