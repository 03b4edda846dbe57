"""Importing is most of what a command takes, so each leaves out what others need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = {"litestar", "uvicorn", "asyncpg", "uvloop", "valkey", "prometheus_client"}
CALENDARS = {"icalendar", "holidays"}
NEVER = {"aiohttp", "attr", "httpx", "pydantic", "click", "rich.markdown"} | SERVERS | CALENDARS
CLIENT = {"asyncio", "matins.client.sdk", "matins.domain.jobs.spec"}
INSIGHT = {"matins.insight.preview", "matins.insight.explain.warnings"}
ROLE = {"icalendar", "holidays", "typer.rich_utils"}


def imported(code: list[str], folder: Path) -> set[str]:
    """The modules that a program imports that knows no API."""
    environment = {**os.environ, "MATINS_DATA": str(folder), "MATINS_URL": "http://127.0.0.1:9"}
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *code],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "MATINS_TOKEN": "t"},
    )
    found = re.findall(r"^import time: .*\| +(\S+)$", ran.stderr, re.MULTILINE)
    assert "matins.cli.app" in found, ran.stderr
    return set(found)


@pytest.mark.parametrize(
    ("words", "without"),
    [
        ("--version", NEVER | CLIENT | INSIGHT),
        ("--help", NEVER | CLIENT | INSIGHT),
        ("jobs --help", NEVER | CLIENT | INSIGHT),
        ("jobs lst", NEVER | CLIENT | INSIGHT),
        ("jobs list", NEVER | INSIGHT),
        ("jobs list --help", NEVER | INSIGHT),
        ("jobs pause a/b", NEVER | INSIGHT),
        ("runs show 7", NEVER | INSIGHT),
        ("runs list --json", NEVER | INSIGHT),
        ("executors list", NEVER | INSIGHT),
        ("windows list", NEVER | INSIGHT),
        ("audit", NEVER | INSIGHT),
        ("forecast", NEVER | INSIGHT),
        ("calendars list", NEVER | INSIGHT),
    ],
)
def test_a_command_leaves_out_what_it_does_not_need(
    words: str, without: set[str], tmp_path: Path
) -> None:
    assert without & imported(["-m", "matins", *words.split()], tmp_path) == set()
