"""What owners do to all jobs that a team and labels select, on memory and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground

from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.selecting import JobOutcome, Relabel
from matins.domain.jobs.spec import JobState
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.domain.values.texts import LABELS_MAX
from matins.owners.selected import Part

TEAM = "default"
GOLD = {"tier": "gold"}
WHY = Pause("release")


async def put_jobs(ground: Ground) -> None:
    """Make three jobs, of which two are gold."""
    for name, labels in (("a", GOLD), ("b", {"tier": "tin"}), ("c", GOLD | {"x": "y"})):
        await ground.owners.jobs.put(TEAM, msgspec.structs.replace(SPEC, name=name, labels=labels))
    await ground.owners.jobs.put("other", msgspec.structs.replace(SPEC, labels=GOLD))


async def states(ground: Ground) -> dict[str, str]:
    found = {}
    for name in "abc":
        spec = msgspec.structs.replace(SPEC, name=name)
        told = await ground.owners.jobs.put(TEAM, spec, dry_run=True)
        found[name] = told.job.state.value
    return found


async def test_jobs_are_selected_by_team_and_labels(ground: Ground) -> None:
    await put_jobs(ground)
    told = await ground.owners.selected.pause(TEAM, GOLD, WHY, dry_run=True)
    assert (told.changed, [outcome.job for outcome in told.jobs]) == (2, ["a", "c"])
    assert set((await states(ground)).values()) == {"active"}
    done = await ground.owners.selected.pause(TEAM, GOLD, WHY)
    assert done == told
    assert await states(ground) == {"a": "paused", "b": "active", "c": "paused"}
    whole = await ground.owners.selected.pause(TEAM, {})
    assert [outcome.change for outcome in whole.jobs] == ["unchanged", "paused", "unchanged"]
    assert whole.jobs[0] == JobOutcome("a", "unchanged", reason="release")


async def test_a_job_of_many_keeps_the_pause_that_it_is_in(ground: Ground) -> None:
    await put_jobs(ground)
    await ground.owners.jobs.pause(TEAM, "a", Pause("the vendor is down"))
    await ground.owners.selected.pause(TEAM, {}, Pause("release", START + timedelta(hours=2)))
    again = await ground.owners.jobs.pause(TEAM, "a", Pause("the vendor is down"))
    assert again.change == "unchanged"


async def test_all_go_on_and_what_they_missed_is_counted(ground: Ground) -> None:
    await put_jobs(ground)
    await ground.owners.selected.pause(TEAM, GOLD, WHY)
    ground.clock.move(180)
    told = await ground.owners.selected.resume(TEAM, {}, "last", dry_run=True)
    done = await ground.owners.selected.resume(TEAM, {}, "last")
    assert done == told
    assert (done.changed, done.skipped, done.queued) == (2, 4, 2)
    assert done.jobs[1] == JobOutcome("b", "unchanged", reason="it is active")
    assert set((await states(ground)).values()) == {"active"}
    repeated = await ground.owners.selected.resume(TEAM, {}, "last")
    assert (repeated.changed, repeated.queued) == (0, 0)


async def test_a_quarantined_job_is_refused_and_stops_none_of_the_others(ground: Ground) -> None:
    await put_jobs(ground)
    made = (await ground.owners.jobs.put(TEAM, msgspec.structs.replace(SPEC, name="q"))).job
    await ground.agenda.quarantine(made.id, 1, "broken")
    paused = await ground.owners.selected.pause(TEAM, {})
    assert [outcome.change for outcome in paused.jobs] == ["paused"] * 3 + ["refused"]
    assert "quarantined" in paused.jobs[-1].reason
    resumed = await ground.owners.selected.resume(TEAM, {})
    assert resumed.jobs[-1] == JobOutcome("q", "unchanged", reason="broken")
    told = await ground.owners.jobs.resume(TEAM, "q", dry_run=True)
    assert (told.change, told.job.state) == ("resumed", JobState.ACTIVE)


async def labels(ground: Ground, name: str) -> dict[str, str]:
    told = await ground.owners.jobs.relabel(TEAM, name, Relabel(drop=["none"]), dry_run=True)
    return told.job.spec.labels


async def test_many_are_labelled_by_the_labels_that_they_have(ground: Ground) -> None:
    await put_jobs(ground)
    wanted = Relabel({"tier": "silver", "owner": "ledger"}, ["x"])
    told = await ground.owners.selected.relabel(TEAM, GOLD, wanted, dry_run=True)
    assert (told.changed, [outcome.job for outcome in told.jobs]) == (2, ["a", "c"])
    assert await labels(ground, "a") == GOLD
    assert await ground.owners.selected.relabel(TEAM, GOLD, wanted) == told
    for name in "ac":
        assert await labels(ground, name) == {"tier": "silver", "owner": "ledger"}
    assert await labels(ground, "b") == {"tier": "tin"}
    again = await ground.owners.selected.relabel(TEAM, {"owner": "ledger"}, wanted)
    assert again.changed == 0
    assert again.jobs[0] == JobOutcome("a", "unchanged", reason="its labels are so already")


async def test_a_job_that_would_have_too_many_labels_stops_none_of_the_others(
    ground: Ground,
) -> None:
    await put_jobs(ground)
    many = {f"label-{number}": "x" for number in range(LABELS_MAX - 1)}
    done = await ground.owners.selected.relabel(TEAM, {}, Relabel(many))
    assert [outcome.change for outcome in done.jobs] == ["changed", "changed", "refused"]
    with pytest.raises(InvalidInputError, match="name a label"):
        await ground.owners.selected.relabel(TEAM, {}, Relabel())
    with pytest.raises(NotFoundError, match="no job with these labels"):
        await ground.owners.selected.relabel(TEAM, {"tier": "lead"}, Relabel(drop=["x"]))


async def test_many_are_changed_part_by_part(ground: Ground) -> None:
    await put_jobs(ground)
    wanted, seen, after = Relabel(drop=["tier"]), [], ""
    for _ in range(3):
        part = await ground.owners.selected.relabel(TEAM, {}, wanted, part=Part(after, 2))
        seen.append([outcome.job for outcome in part.jobs])
        if part.next is None:
            break
        after = part.next
    assert seen == [["a", "b"], ["c"]]
    assert [await labels(ground, name) for name in "abc"] == [{}, {}, {"x": "y"}]
    nothing = await ground.owners.selected.pause(TEAM, {}, part=Part("c", 2))
    assert (nothing.jobs, nothing.next) == ([], None)


async def test_what_is_wrong_changes_nothing(ground: Ground) -> None:
    await put_jobs(ground)
    with pytest.raises(NotFoundError, match="no job with these labels"):
        await ground.owners.selected.pause(TEAM, {"tier": "lead"})
    with pytest.raises(NotFoundError, match="team nobody has no job"):
        await ground.owners.selected.resume("nobody", {})
    with pytest.raises(InvalidInputError, match="until"):
        await ground.owners.selected.pause(TEAM, {}, Pause(until=START))
    assert set((await states(ground)).values()) == {"active"}
