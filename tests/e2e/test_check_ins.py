"""The page on check-ins is true: its commands are typed at real processes, with a real curl."""

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

PAGE = Path(__file__).parents[2] / "docs" / "check-ins.md"
BLOCKS = re.compile(r"^```(yaml|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
URL = re.compile(r"^url: (\S+) ", re.MULTILINE)


async def test_what_something_else_runs_is_watched(tmp_path: Path) -> None:
    settings = {"MATINS_SECRET_KEYS": "7e" * 32, "MATINS_ALERT_LOOK": "500ms"}
    async with webhooks() as hooks, Cluster(None, **settings) as cluster:
        await cluster.start("api")
        environment = os.environ | {"MATINS_URL": cluster.urls[0], "MATINS_TOKEN": TOKEN}
        matins = [sys.executable, "-m", "matins"]
        type_ = partial(_type, folder=tmp_path, environment=environment)
        await type_([*matins, "channels", "add", "ops/oncall", "--webhook", hooks.url])
        urls: list[str] = []
        for kind, text in BLOCKS.findall(PAGE.read_text("utf-8")):
            if kind == "yaml":
                (tmp_path / "jobs.yaml").write_text(text)
                continue
            for line in text.splitlines():
                words = shlex.split(line.replace("$URL", urls[-1] if urls else "$URL"))
                said = await type_(matins + words[1:] if words[0] == "matins" else words)
                urls += URL.findall(said)
                if " checkins add " in line:  # what fails before it is watched nobody is told of
                    await until(partial(cluster.value, "SELECT count(*) = 1 FROM watches"), 60)
                if "no space" in line:  # before it succeeds again
                    await until(partial(_has_come, hooks, 1), 60)
        assert len(urls) == 2  # of `add`, and of `rotate`
        await until(partial(_has_come, hooks, 2), 60)
        assert hooks.turns == ["bad", "well"]
        assert "no space left on device" in hooks.events[0]["data"]["text"]
        for url in urls:  # in no log, also where it is refused
            process = await asyncio.create_subprocess_exec("curl", "-fsS", url, stderr=-3)
            assert await process.wait() == 22
            assert cluster.roles[0].said(url.rpartition("/")[2]) == 0


async def _has_come(hooks: Hooks, count: int) -> bool:
    return len(hooks.events) >= count


async def _type(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Type a command of the page in a folder; return what it says."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, (words, said.decode())
    return said.decode()
