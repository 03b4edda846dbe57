"""What owners type about dead letters: the page on them, from top to bottom."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from pathlib import Path
from uuid import UUID, uuid4

from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.executors.protocol import End, Ending, Handout, Heartbeat, Poll
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.attempts import Result
from matins.domain.runs.states import Outcome, RunState
from matins.store.database import Database
from matins.store.dispatch import PostgresDispatch

PAGE = Path(__file__).parents[3] / "docs" / "dead-letters.md"
BROKEN = JobSpec("broken", Target(command=CommandTarget(["false"])), overlap="allow")


async def die(matins: Matins, database: Database, orders: int = 3) -> list[UUID]:
    """Let runs of demo/broken die, each of another order."""
    await matins.put_job("demo", BROKEN)
    for _ in range(orders):
        await matins.trigger_job("demo", "broken")
    dispatch, executor = PostgresDispatch(database, database, database), uuid4()
    await dispatch.heartbeat(Heartbeat(executor, "e", ["default"], 9, 1))
    handout = await dispatch.dequeue(Poll(executor, 1, ["default"], 9), "default") or Handout()
    endings = []
    for number, attempt in enumerate(handout.attempts):
        output = f"Traceback:\norder {4711 + number} refused\n"
        result = Result(Outcome.FAILED, "exit code 3", output=output, exit_code=3)
        end = End(attempt.run_id, 1, result)
        endings.append(Ending(end, RunState.DEAD, "failed 1 times; at last: exit code 3"))
    await dispatch.record(executor, endings)
    return sorted(attempt.run_id for attempt in handout.attempts)


def commands() -> list[list[str]]:
    """Return what the page shows, a command after the other."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


async def test_all_commands_of_the_page_do_what_it_says(
    typed: Typist, matins: Matins, database: Database
) -> None:
    runs = await die(matins, database, 4)
    [group] = await matins.list_dead_groups("demo")
    shown = {}
    for words in commands():
        run = runs[3] if "--env" in words else runs[0] if words[1] == "replay" else runs[1]
        replays = await matins.list_replays("demo")
        ids = {"3f9a0c52d1e7": group.fingerprint, "019ae1f6-1b28-8a3c-9f05-2c5d1f0e7a42": str(run)}
        ids["5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11"] = str(replays[0].id) if replays else ""
        known = [ids.get(word, word) for word in words]
        ran = await typed(*known)
        assert ran.code == 0, (words, ran.err)
        shown[" ".join(words[1:])] = ran.out
    told = iter(shown.items())
    groups = next(told)[1].splitlines()
    assert groups[0].split() == ["COUNT", "JOB", "FINGERPRINT", "FIRST", "LAST", "ERROR"]
    assert groups[1].startswith(f"4      demo/broken  {group.fingerprint}")
    assert "order 471" in groups[1]
    for name, out in told:
        if name.startswith("list") and "dismissed" not in name:
            assert [str(run) in out for run in runs] == [True] * 4
        elif name.startswith("show"):
            assert ("exit code 3: order 4712 refused" in out, "Traceback:" in out) == (True, True)
        elif name.startswith("replay 019") and "--env" in name:
            assert re.fullmatch(r"queued  \S+  demo/broken\n", out)
        elif name.startswith("replay 019"):
            assert out == f"retrying  {runs[0]}  demo/broken\n"
        elif name.startswith("replay --job"):
            assert re.fullmatch(r"active  \S+  0 of 2 dead letters, 100/m\n", out)
        elif name.startswith("replays"):
            assert out.splitlines()[1].split()[1:7] == [
                "demo/broken",
                *["active", "0", "0", "2", "100/m"],
            ]
        elif name.startswith("cancel"):
            assert out.startswith("cancelled  ")
    dismissals = [out for name, out in shown.items() if name.startswith("dismiss")]
    assert dismissals == [
        "dismissed  1 dead letter\n",
        "dismissed  1 dead letter\n",
        "dismissed  0 dead letters\n",
    ]
    dismissed = shown["list --team demo --dismissed"]
    assert [str(run) in dismissed for run in runs] == [False, True, True, True]


async def test_nothing_is_dismissed_unless_it_is_said_what(
    typed: Typist, matins: Matins, database: Database
) -> None:
    await die(matins, database, 1)
    refused = await typed("dead", "dismiss", "--team", "demo")
    assert (refused.code, "or everything" in refused.err) == (2, True)
    assert (await matins.get_dead_counts("demo")).total == 1


async def test_a_single_run_and_everything_are_not_both_replayed(
    typed: Typist, matins: Matins, database: Database
) -> None:
    [run] = await die(matins, database, 1)
    refused = await typed("dead", "replay", str(run), "--everything")
    assert (refused.code, "and none of these" in refused.err) == (2, True)
    assert (await matins.get_dead_counts("demo")).total == 1


async def test_a_watched_replay_is_shown_until_it_is_finished(
    typed: Typist, matins: Matins, database: Database
) -> None:
    await die(matins, database, 2)
    words = ("dead", "replay", "--job", "demo/broken", "--rate", "1/d", "--watch", "--json")
    watched = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "matins", *words), stdout=asyncio.subprocess.PIPE
    )
    assert watched.stdout is not None
    try:
        first = json.loads(await watched.stdout.readline())
        await matins.cancel_replay(UUID(first["id"]))
        *_, last = map(json.loads, (await watched.stdout.read()).splitlines())
        assert await watched.wait() == 0
    finally:
        if watched.returncode is None:
            watched.kill()
    assert (first["state"], first["planned"], last["state"]) == ("active", 2, "cancelled")
    refused = await typed("dead", "replay", "demo/broken", "--watch")
    assert (refused.code, "is for replays at a rate" in refused.err) == (2, True)


async def test_for_programs_all_of_it_is_json(
    typed: Typist, matins: Matins, database: Database
) -> None:
    [run] = await die(matins, database, 1)
    [letter] = (await typed("dead", "list", "--team", "demo", "--json")).json
    assert (letter["run_id"], letter["error"]) == (str(run), "exit code 3: order 4711 refused")
    view = (await typed("dead", "show", str(run), "--json")).json
    assert view["failure"]["letter"] == letter
    assert [attempt["exit_code"] for attempt in view["attempts"]] == [3]
    done = await typed("dead", "dismiss", str(run), "--json")
    assert done.json == {"dismissed": 1}


async def test_a_run_is_replayed_with_another_input_as_a_new_one(
    typed: Typist, matins: Matins, database: Database
) -> None:
    runs = await die(matins, database, 2)
    words = ("dead", "replay", str(runs[0]), "--env", "ORDER=4711", "--arg=-v", "--key", "mended")
    made = (await typed(*words, "--json")).json
    assert (made["kind"], made["id"] != str(runs[0])) == ("manual", True)
    assert (await typed(*words, "--json")).json["id"] == made["id"]
    given = await matins.get_run_input(UUID(made["id"]))
    assert (given.args, given.env, given.replay_of) == (["-v"], {"ORDER": "4711"}, runs[0])
    assert f"replay_of: {runs[0]}" in (await typed("runs", "show", made["id"])).out
    assert (await matins.get_dead_counts("demo")).total == 1
    closed = (await typed("dead", "show", str(runs[0]))).out
    assert f"replayed as {made['id']}, " in " ".join(closed.split())
    assert "dismissed" not in closed
    several = await typed("dead", "replay", *map(str, runs), "--env", "ORDER=1")
    assert (several.code, "a single one" in several.err) == (2, True)


async def test_runs_show_tells_why_a_run_failed(
    typed: Typist, matins: Matins, database: Database
) -> None:
    runs = await die(matins, database, 2)
    shown = (await typed("runs", "show", str(runs[1]))).out
    assert "why it failed" in shown
    assert "exit code 3: order 4712 refused" in shown
    assert "1 of the 1 run before" in shown
    view = (await typed("runs", "show", str(runs[1]), "--json")).json
    assert view["failure"]["letter"]["run_id"] == str(runs[1])
