"""Importing is most of what a command takes, so each leaves out what only others need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.cli.imports import NEVER, imported

CLIENT = {"asyncio", "matins.client.sdk", "matins.domain.jobs.spec", "rich.console", "yaml"}
INSIGHT = {"matins.insight.preview", "matins.insight.explain.warnings"}


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
    nowhere = {"MATINS_DATA": str(tmp_path), "MATINS_URL": "http://127.0.0.1:9"}
    assert without & imported(words, nowhere | {"MATINS_TOKEN": "t"}) == set()


@pytest.mark.parametrize(
    ("role", "without"),
    [
        *((role, {"litestar", "jinja2", "apprise"}) for role in ("executor", "migrate")),
        ("scheduler", {"litestar", "jinja2", "apprise", "obstore"}),
        ("api", {"obstore"}),
    ],
)
def test_a_role_leaves_out_what_it_does_not_need(role: str, without: set[str]) -> None:
    loaded = f"import sys, matins.roles.{role}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert without & set(ran.stdout.split()) == set()
