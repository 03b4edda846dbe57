"""What commands import, as Python itself tells it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

SERVERS = {"litestar", "uvicorn", "asyncpg", "uvloop", "valkey", "prometheus_client"}
CALENDARS = {"icalendar", "holidays"}
OTHERS = {"aiohttp", "attr", "httpx", "pydantic", "click", "structlog", "rich.markdown"}
NEVER = SERVERS | CALENDARS | OTHERS
"""No command imports them that only asks the API."""


def imported(words: str, environment: dict[str, str]) -> set[str]:
    """Run a command, whatever comes of it; return the modules that it has imported."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "matins", *words.split()],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    found = re.findall(r"^import time: .*\| +(\S+)$", ran.stderr, re.MULTILINE)
    assert "matins.cli.app" in found, ran.stderr
    return set(found)
