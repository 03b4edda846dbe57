"""What owners type: jobs, runs, audit, executors."""

from __future__ import annotations

import asyncio
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from tests.e2e.cli.typed import Typist
from tests.ids import run_numbered

from matins.cli.showing import local
from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec, JobState
from matins.domain.jobs.targets import CommandTarget, HttpTarget, Target
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.schedule import Schedule
from matins.store.database import Database

SPEC = JobSpec(
    "nightly",
    Target(command=CommandTarget(["true"])),
    Schedule(cron="0 2 * * *"),
    overlap="allow",  # so that what is triggered is queued at once: no scheduler runs here
)

_FILES = ("+++", "---")


async def forget_two_days(database: Database) -> None:
    """Let all jobs have been there for two days, in which all was claimed and nothing recorded."""
    async with database.session() as session:
        await session.execute("UPDATE jobs SET created_at = created_at - interval '2 days'")
        await session.execute(
            "UPDATE revisions SET effective_at = effective_at - interval '2 days'"
        )
        await session.execute("UPDATE partitions SET watermark = now()")


async def first_run(matins: Matins) -> UUID:
    while True:
        for run in (await matins.runs_page()).runs:
            return run.id
        await asyncio.sleep(0.01)


@pytest.fixture
async def job(matins: Matins) -> str:
    await matins.put_job("payments", SPEC)
    return "payments/nightly"


async def test_jobs_of_all_teams_are_listed(typed: Typist, matins: Matins, job: str) -> None:
    await matins.put_job("search", SPEC)
    listed = await typed("jobs", "list")
    assert [line.split()[0] for line in listed.out.splitlines()] == [
        "JOB",
        job,
        "search/nightly",
    ]
    only = await typed("jobs", "list", "--team", "search", "--json")
    assert [job["team"] for job in only.json] == ["search"]


async def test_a_list_of_jobs_says_how_the_last_runs_went_and_when_the_next_is(
    typed: Typist, matins: Matins, job: str, database: Database
) -> None:
    for _ in range(3):
        run = await matins.trigger_job("payments", "nightly")
    await matins.cancel_run(run.id)
    line = (await typed("jobs", "list")).out.splitlines()[1]
    assert line.split()[-1] == "QQC"
    assert " ago  " in line
    assert re.search(r" \d\d:00:00 \w+  +\d+[hm]", line)
    [listed] = (await typed("jobs", "list", "--json")).json
    assert listed["recent"]["runs"][0]["id"] == str(run.id)
    assert listed["spec"]["name"] == "nightly"


async def test_a_job_is_shown_as_it_was_written(typed: Typist, job: str) -> None:
    shown = await typed("jobs", "show", job)
    assert "next due time" in shown.out
    assert "schedule:\n  cron: 0 2 * * *\n" in shown.out
    assert (await typed("jobs", "show", job, "--json")).json["spec"]["name"] == "nightly"


async def test_a_name_alone_is_in_the_default_team(typed: Typist, matins: Matins) -> None:
    await matins.put_job("default", SPEC)
    assert (await typed("jobs", "show", "nightly", "--json")).json["team"] == "default"


async def test_a_job_is_paused_and_resumed(typed: Typist, matins: Matins, job: str) -> None:
    assert (await typed("jobs", "pause", job)).out == f"paused  {job}\n"
    assert (await matins.get_job("payments", "nightly")).state is JobState.PAUSED
    resumed = await typed("jobs", "resume", job, "--missed", "last", "--json")
    assert (resumed.json["change"], resumed.json["job"]["state"]) == ("resumed", "active")
    assert (await typed("jobs", "resume", job, "--missed", "some")).code == 2


async def test_a_job_is_paused_until_a_time_for_a_reason(
    typed: Typist, matins: Matins, job: str
) -> None:
    words = ["jobs", "pause", job, "--until", "2h", "--reason", "vendor", "--missed", "last"]
    told = await typed(*words, "--dry-run")
    assert told.out.startswith(f"would be paused  {job}  until ")
    assert (await matins.get_job("payments", "nightly")).state is JobState.ACTIVE
    paused = await typed(*words)
    assert paused.out.startswith(f"paused  {job}  until ")
    until = (await matins.get_job("payments", "nightly")).paused_until
    assert until is not None
    ahead_s = (until - datetime.now(UTC)).total_seconds()
    assert 7000 < ahead_s < 7300
    shown = await typed("jobs", "show", job)
    assert "vendor" in shown.out
    assert f"paused until {local(until)}" in " ".join(shown.out.split())
    assert (await typed("jobs", "pause", job, "--until", "yesterday")).code == 2


async def test_a_jobs_history_is_listed_compared_and_rolled_back(
    typed: Typist, matins: Matins, job: str
) -> None:
    changed = msgspec.structs.replace(SPEC, timeout="9s", labels={"tier": "gold"})
    await matins.put_job("payments", changed, reason="release 7")
    listed = await typed("jobs", "history", job)
    assert "labels, timeout" in listed.out
    assert "release 7" in listed.out
    page = (await typed("jobs", "history", job, "--json")).json
    assert [revision["author"] for revision in page["revisions"]] == ["admin", "admin"]
    compared = await typed("jobs", "diff", job)
    assert [
        line for line in compared.out.splitlines() if line[0] in "+-" and line[:3] not in _FILES
    ] == [
        "+labels:",
        "+  tier: gold",
        "+timeout: 9s",
    ]
    assert (await typed("jobs", "diff", job, "1", "2")).out == compared.out
    told = await typed("jobs", "rollback", job, "1", "--dry-run")
    assert told.out == f"would be changed  {job}\n"
    done = await typed("jobs", "rollback", job, "1", "--reason", "too short")
    assert done.out == f"changed  {job}\n"
    assert (await matins.get_job("payments", "nightly")).spec == SPEC
    same = await typed("jobs", "diff", job, "1")
    assert "same spec" in same.out
    assert (await typed("jobs", "rollback", job, "9")).code == 1
    assert (await typed("jobs", "diff", job, "9")).code == 1


async def test_a_job_is_deleted(typed: Typist, job: str) -> None:
    assert (await typed("jobs", "delete", job)).out == f"deleted  {job}\n"
    gone = await typed("jobs", "show", job, "--json")
    assert (gone.code, gone.out) == (1, "")
    assert "payments has no job 'nightly'" in gone.err


async def test_a_triggered_run_is_listed_shown_and_cancelled(typed: Typist, job: str) -> None:
    run_id = (await typed("jobs", "trigger", job, "--json")).json["id"]
    for words in (["list"], ["list", job], ["list", job, "--state", "queued"], ["watch", "--once"]):
        assert run_id in (await typed("runs", *words)).out
    assert run_id not in (await typed("runs", "list", job, "--state", "dead")).out
    shown = await typed("runs", "show", run_id, "--json")
    assert (shown.json["run"]["state"], shown.json["attempts"]) == ("queued", [])
    cancelled = await typed("runs", "cancel", run_id)
    assert cancelled.out.split() == ["cancelled", run_id, job]
    assert (await typed("runs", "cancel", run_id)).code == 1


async def test_every_command_takes_a_run_by_its_names(
    typed: Typist, matins: Matins, job: str, database: Database
) -> None:
    run = await matins.trigger_job("payments", "nightly")
    due = run.due_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in [str(run.id), run.id.hex[:20].upper(), job, f"{job}@{due}"]:
        for words in (["runs", "show"], ["explain"]):
            shown = await typed(*words, name)
            assert (shown.code, str(run.id) in shown.out) == (0, True), (words, name, shown.err)
    assert (await typed("runs", "show", job, "--last-failed")).code == 1
    async with database.session() as session:
        await session.execute("UPDATE runs SET state = 'dead', finished_at = due_at")
    later = await matins.trigger_job("payments", "nightly")
    assert str(run.id) in (await typed("explain", job, "--last-failed")).out
    assert (await typed("runs", "cancel", job, "--json")).json["id"] == str(later.id)
    for words in (["runs", "retry", job], ["runs", "stop-retrying", str(later.id)[:20]]):
        refused = await typed(*words)
        assert (refused.code, "it is cancelled" in refused.err) == (1, True), refused.err
    refused = await typed("runs", "show", str(run.id), "--last-failed")
    assert (refused.code, "is one run already" in refused.err) == (2, True)


async def test_a_trigger_changes_its_target_for_its_run(typed: Typist, job: str) -> None:
    words = ["trigger", job, "--env", "DAY=1=2", "--arg", "--all", "--key", "monday", "--json"]
    first, again = await typed("jobs", *words), await typed("jobs", *words)
    assert first.json == again.json
    shown = await typed("runs", "show", first.json["id"], "--json")
    assert shown.json["input"] == {"args": ["--all"], "env": {"DAY": "1=2"}}
    told = await typed("runs", "show", first.json["id"])
    assert "input\nargs:\n- --all\nenv:\n  DAY: 1=2\n" in told.out


async def test_a_body_is_json_or_text_from_the_line_or_a_file(
    typed: Typist, matins: Matins, tmp_path: Path
) -> None:
    target = Target(http=HttpTarget("http://127.0.0.1:9/"))
    await matins.put_job("payments", JobSpec("call", target))
    file = tmp_path / "body.txt"
    file.write_text("as it is\n")
    bodies = ['{"day": 1}', '"text"', f"@{file}"]
    inputs = []
    for body in bodies:
        run = await typed("jobs", "trigger", "payments/call", "--body", body, "--json")
        inputs.append(await matins.get_run_input(UUID(run.json["id"])))
    assert [run_input.body for run_input in inputs] == [{"day": 1}, '"text"', "as it is\n"]
    wrong = [["--body", "{"], ["--header", "A"], ["--env", "A=b"], ["--body", "@/no/file"]]
    codes = [(await typed("jobs", "trigger", "payments/call", *options)).code for options in wrong]
    assert codes == [2, 2, 2, 2]


async def test_waiting_for_a_run_fails_unless_it_succeeds(
    typed: Typist, matins: Matins, job: str
) -> None:
    waiting = asyncio.create_task(typed("jobs", "trigger", job, "--wait", "--json"))
    await matins.cancel_run(await first_run(matins))
    ended = await waiting
    assert (ended.code, ended.json["state"]) == (1, "cancelled")


async def test_a_run_that_is_not_there_is_exit_code_1(typed: Typist) -> None:
    missing = await typed("runs", "show", str(run_numbered(103)))
    assert missing.code == 1
    assert "there is no run" in missing.err


async def test_the_audit_tells_that_all_is_accounted_for(typed: Typist, job: str) -> None:
    told = await typed("audit", "--job", job, "--since", "6h")
    assert told.code == 0
    assert "1 job, 0 due times: every due time is accounted for" in told.out


async def test_the_audit_fails_when_a_due_time_is_missing(
    typed: Typist, job: str, database: Database
) -> None:
    await forget_two_days(database)
    told = await typed("audit", "--json")
    [found] = told.json["jobs"]
    assert told.code == 1
    assert found["missing_count"] > 0
    shown = await typed("audit")
    assert f"{job} is missing" in shown.out
    assert "1 job in disorder" in shown.out


async def test_the_audit_of_a_job_that_nobody_has_is_no_good_news(typed: Typist) -> None:
    assert (await typed("audit", "--job", "payments/nihgtly")).code == 1


async def test_an_audit_of_the_future_is_refused(typed: Typist) -> None:
    refused = await typed("audit", "--since", "2100-01-01T00:00:00Z")
    assert refused.code == 2
    assert refused.err.startswith("matins: since: ")


async def test_executors_are_listed(typed: Typist) -> None:
    assert (await typed("executors", "list", "--json")).json == []
    assert (await typed("executors", "list")).out.split()[0] == "NAME"


async def test_a_wrong_token_is_told_with_what_to_set(
    typed: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATINS_TOKEN", "wrong")
    refused = await typed("jobs", "list", "--json")
    assert (refused.code, refused.out) == (1, "")
    assert "set MATINS_TOKEN" in refused.err


async def test_json_is_nothing_but_json(typed: Typist, job: str) -> None:
    for words in (["jobs", "list"], ["runs", "list"], ["audit"], ["executors", "list"]):
        ran = await typed(*words, "--json")
        json.loads(ran.out)
        assert ran.err == ""


async def test_a_job_that_is_followed_is_deleted_by_force(
    typed: Typist, matins: Matins, job: str
) -> None:
    follows = Schedule(after=AfterJobs(["nightly"]))
    await matins.put_job("payments", JobSpec("report", SPEC.target, follows))
    assert "after nightly" in (await typed("jobs", "list")).out
    refused = await typed("jobs", "delete", job)
    assert (refused.code, "report follows 'nightly'" in refused.err) == (1, True)
    assert (await typed("jobs", "delete", job, "--force")).out == f"deleted  {job}\n"


async def test_a_run_that_is_not_dead_is_not_replayed(typed: Typist, job: str) -> None:
    run = (await typed("jobs", "trigger", job, "--json")).json["id"]
    refused = await typed("dead", "replay", run)
    assert (refused.code, "it is queued" in refused.err) == (1, True)


async def test_a_run_that_waits_for_no_attempt_is_neither_hurried_nor_stopped(
    typed: Typist, job: str
) -> None:
    run = (await typed("jobs", "trigger", job, "--json")).json["id"]
    for words in (["retry", run], ["stop-retrying", run, "--reason", "wrong file"]):
        refused = await typed("runs", *words)
        assert (refused.code, "it is queued; cancel it" in refused.err) == (1, True)


async def test_jobs_that_labels_select_are_paused_and_resumed_at_once(
    typed: Typist, matins: Matins, job: str
) -> None:
    gold = msgspec.structs.replace(SPEC, name="gold", labels={"tier": "gold"})
    await matins.put_job("payments", gold)
    words = ["jobs", "pause", "--team", "payments", "--label", "tier=gold", "--reason", "release"]
    told = await typed(*words, "--dry-run")
    assert told.out == "paused     gold\n1 of 1 job would be changed\n"
    assert (await typed(*words)).out == "paused     gold\n1 of 1 job changed\n"
    again = await typed("jobs", "pause", "--team", "payments")
    assert again.out == "unchanged  gold: release\npaused     nightly\n1 of 2 jobs changed\n"
    resumed = await typed("jobs", "resume", "--team", "payments", "--json")
    assert resumed.json["changed"] == 2
    for wrong in ([], [job, "--team", "payments"], [job, "--label", "a=b"]):
        assert (await typed("jobs", "pause", *wrong)).code == 2


async def test_jobs_that_labels_select_are_labelled(typed: Typist, job: str) -> None:
    assert (await typed("jobs", "label", job, "tier=gold")).out == f"changed  {job}\n"
    words = ["jobs", "label", "--team", "payments", "--label", "tier=gold", "owner=ledger", "tier-"]
    told = await typed(*words, "--dry-run")
    assert told.out == "changed    nightly\n1 of 1 job would be changed\n"
    assert (await typed(*words)).out == "changed    nightly\n1 of 1 job changed\n"
    shown = await typed("jobs", "show", job, "--json")
    assert shown.json["spec"]["labels"] == {"owner": "ledger"}
    refused = await typed(*words)
    assert (refused.code, "no job with these labels" in refused.err) == (1, True)


class _Terminal(io.StringIO):
    """A standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


async def test_a_resume_asks_what_becomes_of_what_was_missed(
    typed: Typist, matins: Matins, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutely = msgspec.structs.replace(SPEC, schedule=Schedule(cron="* * * * *"))
    await matins.put_job("payments", minutely)
    job = "payments/nightly"
    await typed("jobs", "pause", job)
    async with database.session() as session:
        await session.execute(
            "UPDATE revisions SET effective_at = effective_at - interval '10 minutes'"
        )
        await session.execute("UPDATE jobs SET changed_at = changed_at - interval '10 minutes'")
    refused = await typed("jobs", "resume", job)
    assert (refused.code, refused.out) == (2, "")
    assert "due times passed in the pause; say what becomes of it: skip, last, all" in refused.err
    assert (await matins.get_job("payments", "nightly")).state is JobState.PAUSED
    monkeypatch.setattr("sys.stdin", _Terminal("some\nlast\n"))
    answered = await typed("jobs", "resume", job)
    assert answered.code == 0
    assert "skipped, 1 queued" in answered.out
