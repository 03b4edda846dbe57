"""The page on output says what is done: its script is run, its limits are those of the code."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from matins.domain.runs.output import OutputBounds
from matins.executor.http.body import BODY_KEPT, BODY_READ
from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.link import Command, Keeper
from matins.executor.markers import LINE_MAX, RESULTS_MAX, TEXT_MAX, VALUE_MAX
from matins.executor.masking import NAMED_MIN, TOLD_MIN, secrets_of
from matins.executor.news import News
from matins.executor.output import left_out
from matins.executor.relay import KEPT_MAX
from matins.executor.unsent import GATHER_S

PAGE = (Path(__file__).parents[2] / "docs" / "output.md").read_text("utf-8")
WORDS = " ".join(PAGE.split())
[SCRIPT] = [text for text in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "::set" in text]


async def test_the_script_of_the_page_tells_what_the_page_says() -> None:
    keeper = Keeper()
    env = {"PATH": "/usr/bin:/bin", "SESSION": "a-session-of-mine"}
    news: list[News] = []
    script = f"{SCRIPT}\necho $SESSION; sleep 0.6"
    command = Command(["sh", "-c", script], env, None, 60.0)
    result = await keeper.run(command, asyncio.Event(), news.append)
    await keeper.close()
    assert result.results == {"rows": "1204"}
    assert result.output == "::progress 40/100 loading\n::set rows=1204\n::mask ***\n***\n"
    [progress] = [told.progress for told in news if told.progress]
    assert (progress.done, progress.total, progress.text) == (40, 100, "loading")


@pytest.mark.parametrize(
    "words",
    [
        f"first and the last {KeeperLimits().head_max // 1024} KiB",
        f"and the last {KeeperLimits().tail_max // 1024} KiB",
        f"the first {BODY_KEPT // 1024} KiB",
        f"read up to {BODY_READ // 2**20} MiB",
        f"`MATINS_OUTPUT_BYTES` ({OutputBounds().usual // 2**20} MiB)",
        f"`MATINS_OUTPUT_BYTES_MAX` ({OutputBounds().most // 2**20} MiB)",
        f"at the latest after {'five' if GATHER_S == 5 else '?'} seconds",
        f"at most {KEPT_MAX // 1_000_000} million characters",
        f"It has at most {LINE_MAX // 1024} KiB",
        f"at most {TEXT_MAX} characters",
        f"at most {RESULTS_MAX}; what is more",
        f"at most {VALUE_MAX} characters long",
        f"if the value has {NAMED_MIN} characters or more",
        f"if it has {TOLD_MIN} characters or more",
        left_out(730112).strip(),
    ],
)
def test_a_limit_is_that_of_the_code(words: str) -> None:
    assert words in WORDS


def test_names_of_secrets_are_those_of_the_code() -> None:
    [named] = re.findall(r"look like secrets: with (.*?) in them", WORDS)
    for name in re.findall(r"[A-Z]+", named):
        assert secrets_of({f"MY_{name}": "some-value"}) == ["some-value"] * 2
