"""Messages on their way: gathered, taken by one at a time, tried again, and sent once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from tests.contract.alerts.watched import QUIET, TEAM, Watched
from tests.contract.ports.ground import START

from matins.domain.alerts.channels import ChannelRecord
from matins.domain.alerts.deliveries import GATHER, GATHER_BURST, GIVE_UP, Taken
from matins.domain.values.errors import NotFoundError

LEASE_S = 60.0


@pytest.fixture
async def dying(watched: Watched) -> Watched:
    """A team with a channel and two jobs, which were looked at."""
    await watched.channel()
    for name in ("load", "send"):
        await watched.job(name)
    await watched.look()
    return watched


async def take(watched: Watched, limit: int = 9) -> list[Taken]:
    """Take what is due."""
    return await watched.ports.outbox.take(limit, LEASE_S)


async def send_at(watched: Watched) -> float:
    """Return how long after it was made the only message is sent."""
    [delivery] = await watched.ports.rows.deliveries()
    assert delivery.send_at is not None
    return (delivery.send_at - delivery.made_at).total_seconds()


async def test_what_one_job_turned_is_told_within_seconds(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    assert await send_at(dying) == GATHER.total_seconds()
    assert await take(dying) == []
    dying.ground.clock.move(10)
    [taken] = await take(dying)
    assert (taken.channel, taken.kind, taken.tries) == ("oncall", "bad", 0)


async def test_with_a_second_job_it_waits_for_more_and_is_one_message(dying: Watched) -> None:
    for name in ("load", "send"):
        await dying.end(name)
        await dying.look()
    assert await send_at(dying) == GATHER_BURST.total_seconds()
    await dying.deliver()
    [(_, outgoing)] = dying.received
    assert [notice.job for notice in outgoing.notices] == ["load", "send"]
    assert outgoing.total == 2


async def test_nothing_is_gathered_into_what_was_taken(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    dying.ground.clock.move(10)
    await take(dying)
    await dying.end("send")
    await dying.look()
    assert len(await dying.ports.rows.deliveries()) == 2


async def test_a_channel_is_sent_one_message_at_a_time(dying: Watched) -> None:
    for _ in range(2):
        await dying.channels.test(TEAM, "oncall")
        dying.ground.clock.move(1)
    [first] = await take(dying)
    assert await take(dying) == []
    await dying.ports.outbox.record(first, first.after("", 0.1))
    [second] = await take(dying)
    assert second.id != first.id


async def test_so_many_channels_are_taken_as_there_is_room(dying: Watched) -> None:
    for name in ("a", "b", "c"):
        await dying.channel(name)
        await dying.channels.test(TEAM, name)
    assert [taken.channel for taken in await take(dying, 2)] == ["a", "b"]
    assert [taken.channel for taken in await take(dying, 2)] == ["c"]


async def test_who_takes_it_when_the_lease_is_over_sends_it_under_its_name(dying: Watched) -> None:
    await dying.channels.test(TEAM, "oncall")
    [first] = await take(dying)
    dying.ground.clock.move(LEASE_S - 1)
    assert await take(dying) == []
    dying.ground.clock.move(1)
    [again] = await take(dying)
    assert (again.id, again.tries) == (first.id, 0)
    assert await dying.ports.outbox.record(again, again.after("", 0.1))
    assert not await dying.ports.outbox.record(first, first.after("it is slow", 70))
    [delivery] = await dying.ports.rows.deliveries()
    assert (delivery.state, len(delivery.tries), delivery.send_at) == ("delivered", 1, None)


async def test_what_was_refused_is_tried_again_and_the_channel_says_why(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    dying.refuses = {"oncall"}
    await dying.deliver()
    [delivery] = await dying.ports.rows.deliveries()
    assert [last.error for last in delivery.tries] == ["it takes nothing"]
    [taken_at] = [last.at for last in delivery.tries]
    assert delivery.send_at == taken_at + timedelta(seconds=5)
    record, _ = await put(dying)
    assert (record.failing_since, record.failure) == (taken_at, "it takes nothing")
    await dying.deliver(4)
    assert len((await dying.ports.rows.deliveries())[0].tries) == 1
    dying.refuses = set()
    await dying.deliver(1)
    assert dying.turns == ["bad"]
    record, _ = await put(dying)
    assert (record.failing_since, record.failure) == (None, "")
    assert record.delivered_at == taken_at + timedelta(seconds=5)


async def put(watched: Watched) -> tuple[ChannelRecord, str]:
    """Put the channel as it is; return it, and what that changed."""
    changed = await watched.channel()
    return changed.channel, changed.change


async def test_after_a_day_a_message_is_given_up_and_a_test_at_once(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    await dying.channels.test(TEAM, "oncall")
    dying.refuses = {"oncall"}
    await dying.deliver()
    await dying.deliver(0)
    states = {row.kind: row.state for row in await dying.ports.rows.deliveries()}
    assert states == {"test": "given_up", "bad": "waiting"}
    await dying.deliver(GIVE_UP.total_seconds())
    states = {row.kind: row.state for row in await dying.ports.rows.deliveries()}
    assert states == {"test": "given_up", "bad": "given_up"}
    await dying.deliver(3600)
    assert [len(row.tries) for row in await dying.ports.rows.deliveries()] == [2, 1]


async def test_what_ended_long_ago_is_deleted_with_what_it_was_about(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    await dying.deliver()
    assert await dying.ports.outbox.purge(100, 9) == 0
    dying.ground.clock.move(101)
    assert await dying.ports.outbox.purge(100, 0) == 0
    assert await dying.ports.outbox.purge(100, 9) == 1
    assert await dying.ports.rows.deliveries() == []
    assert await dying.ports.rows.notices() == []


async def test_what_waits_for_a_deleted_channel_is_never_sent(dying: Watched) -> None:
    await dying.channel("other")
    await dying.end()
    await dying.look()
    await dying.channels.delete(TEAM, "other")
    await dying.deliver()
    assert [channel for channel, _ in dying.received] == ["oncall"]
    with pytest.raises(NotFoundError):
        await dying.channels.test(TEAM, "other")
    with pytest.raises(NotFoundError):
        await dying.channels.delete(TEAM, "other")


async def test_of_a_channel_deleted_while_it_was_sent_to_nothing_is_written(
    dying: Watched,
) -> None:
    await dying.channels.test(TEAM, "oncall")
    [taken] = await take(dying)
    await dying.channels.delete(TEAM, "oncall")
    assert not await dying.ports.outbox.record(taken, taken.after("", 0.1))


async def test_what_is_not_there_is_about_nothing(dying: Watched) -> None:
    assert await dying.ports.outbox.content(UUID(int=1)) == ([], 0, [])


async def test_a_channel_that_leads_elsewhere_has_not_failed_and_goes_on(dying: Watched) -> None:
    dying.refuses = {"oncall"}
    await dying.channels.test(TEAM, "oncall")
    await dying.deliver(0)
    same, change = await put(dying)
    assert (change, bool(same.failing_since)) == ("unchanged", True)
    await dying.channel(url="https://elsewhere.example.com/")
    changed = await dying.channels.rotate(TEAM, "oncall")
    assert (changed.channel.failing_since, changed.channel.failure) == (None, "")
    assert (changed.channel.made_at, changed.channel.waiting) == (START, 0)


async def test_the_messages_that_wait_for_a_channel_are_counted(dying: Watched) -> None:
    await dying.end()
    await dying.look()
    assert (await put(dying))[0].waiting == 1
    await dying.deliver()
    assert (await put(dying))[0].waiting == 0


async def test_a_job_is_called_as_it_is_called_when_it_is_told(dying: Watched) -> None:
    await dying.job("late", QUIET)
    await dying.look()
    await dying.end("late")
    await dying.look()
    [delivery] = await dying.ports.rows.deliveries()
    content = await dying.ports.outbox.content(delivery.id)
    assert [notice.job for notice in content.notices] == ["late"]
