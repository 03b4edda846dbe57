"""What owners do to maintenance windows, on memory and on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from tests.contract.ports.ground import SPEC, START, Ground, claim

from matins.domain.jobs.windows import Window
from matins.domain.values.errors import ConflictError, InvalidInputError, NotFoundError
from matins.owners.windows import WINDOWS_MAX

TEAM = "default"
HOLDER = UUID(int=1)
MINUTE = timedelta(minutes=1)
WINDOW = Window("upgrade", START, START + 5 * MINUTE)


async def hold(ground: Ground) -> None:
    """Let a run be held by the windows of now."""
    made = await ground.owners.jobs.put(TEAM, SPEC)
    epochs = await ground.all_leases(HOLDER)
    answer = await ground.agenda.claim(HOLDER, epochs, [claim(made.job.id, START)])
    await ground.admit(HOLDER, epochs, answer.waiting)


async def test_a_window_is_put_changed_and_deleted(ground: Ground) -> None:
    windows = ground.owners.windows
    longer = msgspec.structs.replace(WINDOW, ends_at=START + 9 * MINUTE)
    assert (await windows.put(TEAM, WINDOW)).change == "created"
    assert (await windows.put(TEAM, WINDOW)).change == "unchanged"
    assert (await windows.put(TEAM, longer)).change == "changed"
    deleted = await windows.delete(TEAM, "upgrade")
    assert (deleted.change, deleted.window) == ("deleted", longer)
    with pytest.raises(NotFoundError, match="no window 'upgrade'"):
        await windows.delete(TEAM, "upgrade")


async def test_it_is_told_how_many_jobs_are_meant_and_how_many_runs_are_held(
    ground: Ground,
) -> None:
    windows = ground.owners.windows
    await windows.put(TEAM, WINDOW)
    await hold(ground)
    again = await windows.put(TEAM, WINDOW)
    assert (again.jobs, again.held) == (1, 1)
    other = await windows.put(TEAM, msgspec.structs.replace(WINDOW, name="b", labels={"a": "b"}))
    assert (other.jobs, other.held) == (0, 0)
    assert (await windows.delete(TEAM, "upgrade")).held == 1


@pytest.mark.parametrize("change", ["deleted", "changed"])
async def test_what_a_window_holds_is_asked_about_once_it_changes(
    ground: Ground, change: str
) -> None:
    windows = ground.owners.windows
    await windows.put(TEAM, WINDOW)
    await hold(ground)
    ground.clock.move(1)
    assert await ground.waiting() == []
    if change == "deleted":
        await windows.delete(TEAM, "upgrade")
    else:
        await windows.put(TEAM, msgspec.structs.replace(WINDOW, ends_at=START + 9 * MINUTE))
    assert len(await ground.waiting()) == 1


async def test_a_window_that_is_refused_changes_nothing(ground: Ground) -> None:
    windows = ground.owners.windows
    with pytest.raises(InvalidInputError, match="must lie after"):
        await windows.put(TEAM, msgspec.structs.replace(WINDOW, ends_at=START))
    assert (await windows.put(TEAM, WINDOW)).change == "created"


async def test_a_team_has_so_many_windows_ahead_and_no_more(ground: Ground) -> None:
    windows = ground.owners.windows
    for number in range(WINDOWS_MAX):
        await windows.put(TEAM, msgspec.structs.replace(WINDOW, name=f"w{number}"))
    with pytest.raises(ConflictError, match="delete one first"):
        await windows.put(TEAM, WINDOW)
    ground.clock.move(300)
    later = msgspec.structs.replace(WINDOW, ends_at=START + 9 * MINUTE)
    assert (await windows.put(TEAM, later)).change == "created"
