"""Hands out attempts: polls wait here in memory until their pools have something for them."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from uuid import UUID

import msgspec

from matins.domain.executors.protocol import Handout, Poll
from matins.domain.ports import Clock, Dispatch, Hints
from matins.domain.runs.attempts import Attempt
from matins.domain.runs.states import Kind
from matins.domain.values.errors import UnavailableError
from matins.gateway.spread import fair_share
from matins.gateway.starts import StartsCounter
from matins.kernel.metrics import HANDED_OUT, START_LAG
from matins.kernel.service import repeat, restarted

WAIT_MAX_S = 30.0
"""The longest that a poll is kept waiting: below the idle limit of common load balancers (60 s)."""

DEQUEUES_MAX = 2
"""How many dequeue statements run at once; one alone gives 16 % less, more were of no use."""

ELSEWHERE_S = 3.0
"""How often it is read what is free at other gateways: heartbeats, which tell it, come as often."""

DEEP = 2
"""After so many dequeues in a row that filled their polls, there is taken to be much more."""


class _PendingPoll:
    """A poll that waits. A repeat of it that comes meanwhile waits for the same answer."""

    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self.answer: asyncio.Future[Handout] = asyncio.get_running_loop().create_future()
        self.askers = 0
        self.dequeue: asyncio.Task[None] | None = None


class _Pool:
    """The polls that wait for a pool, first come first served.

    `is_hot`: it may hold something. It cools when a dequeue gets less than it asked for and no hint
    came since the dequeue began. `filled`: how many dequeues in a row filled all slots of their
    polls. `elsewhere`: the free slots of executors that poll at other gateways.
    """

    def __init__(self) -> None:
        self.waiting: OrderedDict[_PendingPoll, None] = OrderedDict()
        self.serving: set[_PendingPoll] = set()
        self.is_hot = True
        self.filled = 0
        self.elsewhere: Sequence[int] = ()
        self.hints = 0
        self.hints_served = 0

    @property
    def is_deep(self) -> bool:
        """Whether so much is queued that there is no need to spread it."""
        return self.filled >= DEEP

    @property
    def is_worth_asking(self) -> bool:
        """Whether a dequeue may find something: one alone takes all that there is as a rule, so a
        second goes beside it only for what came since it began, or where much is left.
        """
        if not self.is_hot or not self.waiting:
            return False
        return not self.serving or self.is_deep or self.hints != self.hints_served

    def free_slots(self, executor: UUID) -> tuple[int, list[int]]:
        """Return the slots for which an executor asks now, and those of each other one."""
        free = Counter[UUID]()
        for waiting in (*self.waiting, *self.serving):
            free[waiting.poll.executor] += waiting.poll.free
        return free.pop(executor), [*free.values(), *self.elsewhere]


class Dispatcher:
    """Gives queued attempts to the polls that wait, pool by pool in turn.

    Only hot pools are asked, one poll after the other, so a burst wakes as many polls as it fills.
    A poll whose asker has gone is no longer in any pool, so nothing can be dequeued for it.
    """

    def __init__(
        self, dispatch: Dispatch, starts: StartsCounter, hints: Hints, clock: Clock, poll_s: float
    ) -> None:
        self._dispatch = dispatch
        self._starts = starts
        self._hints = hints
        self._clock = clock
        self._poll_s = poll_s
        self._pools: OrderedDict[str, _Pool] = OrderedDict()
        self._polls: dict[tuple[UUID, int], _PendingPoll] = {}
        self._dequeues: set[asyncio.Task[None]] = set()
        self._looked_elsewhere_s = float("-inf")
        self._stopping = asyncio.Event()

    async def poll(self, poll: Poll) -> Handout:
        """Answer a poll: with what is there, else after a wait, else with nothing.

        Cancelled, it leaves the queue. Raises UnavailableError when the outcome is unknown.
        """
        if self._stopping.is_set():
            raise UnavailableError("this gateway is shutting down")
        if poll.repeat and (handout := await self._dispatch.find_handout(poll)) is not None:
            return handout
        waiting = self._join(poll)
        try:
            await asyncio.wait([waiting.answer], timeout=min(poll.wait_s, WAIT_MAX_S))
            while waiting.dequeue:  # what is being dequeued for it would be lost otherwise
                await asyncio.wait([waiting.dequeue])
        finally:
            self._leave(waiting)
        return waiting.answer.result() if waiting.answer.done() else Handout()

    async def run(self) -> None:
        """Listen for hints, and look again every `poll_s` because hints may be lost."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(
                restarted(self._listen, self._clock, name="gateway.listen")
            )
            await repeat(
                self._look_again,
                self._poll_s,
                self._clock,
                self._stopping,
                name="dispatch.look_again",
            )
            listening.cancel()
        while self._dequeues:
            await asyncio.wait(self._dequeues)

    async def stop(self) -> None:
        """Send all that wait away empty-handed, so that they ask elsewhere."""
        self._stopping.set()
        for waiting in list(self._polls.values()):
            if waiting.dequeue is None:
                self._answer(waiting, Handout())

    def _join(self, poll: Poll) -> _PendingPoll:
        key = (poll.executor, poll.seq)
        waiting = self._polls.get(key)
        if waiting is None:
            waiting = self._polls[key] = _PendingPoll(poll)
            self._enter(waiting)
            self._serve()
        waiting.askers += 1
        return waiting

    def _leave(self, waiting: _PendingPoll) -> None:
        waiting.askers -= 1
        if not waiting.askers:
            self._exit(waiting)
            key = (waiting.poll.executor, waiting.poll.seq)
            if self._polls.get(key) is waiting:
                del self._polls[key]

    def _enter(self, waiting: _PendingPoll) -> None:
        for name in waiting.poll.pools:
            self._pools.setdefault(name, _Pool()).waiting[waiting] = None

    def _exit(self, waiting: _PendingPoll) -> None:
        for name in waiting.poll.pools:
            if pool := self._pools.get(name):
                pool.waiting.pop(waiting, None)

    def _serve(self) -> None:
        """Start dequeues while hot pools have polls that wait, up to DEQUEUES_MAX at once."""
        while len(self._dequeues) < DEQUEUES_MAX and (name := self._next_pool()):
            pool = self._pools[name]
            waiting = next(iter(pool.waiting))
            self._exit(waiting)
            pool.serving.add(waiting)
            pool.hints_served = pool.hints
            task = asyncio.create_task(self._dequeue(waiting, name, pool))
            waiting.dequeue = task
            self._dequeues.add(task)
            task.add_done_callback(self._end_dequeue)

    def _next_pool(self) -> str | None:
        for name, pool in self._pools.items():
            if pool.is_worth_asking:
                self._pools.move_to_end(name)  # in turn, so that a busy pool starves no other
                return name
        return None

    async def _dequeue(self, waiting: _PendingPoll, name: str, pool: _Pool) -> None:
        hints = pool.hints
        try:
            poll = await self._share(waiting, name, pool)
            handout = await self._dispatch.dequeue(poll, name)
        except Exception as error:  # the poll's asker is told, whatever it is
            self._refuse(waiting, error)
            return
        finally:
            pool.serving.discard(waiting)
        if handout is not None:
            _count(handout.attempts)
            self._answer(waiting, handout)
        is_emptied = handout is None or 0 < len(handout.attempts) < poll.free
        is_filled = handout is not None and len(handout.attempts) >= waiting.poll.free
        pool.filled = pool.filled + 1 if is_filled else 0
        self._starts.count(name, len(handout.attempts) if handout else 0, is_emptied=is_emptied)
        if is_emptied:
            # A hint that came meanwhile may be for rows that the statement did not see yet.
            pool.is_hot = pool.hints != hints
        waiting.dequeue = None
        if waiting.askers and not waiting.answer.done():
            if self._stopping.is_set():
                self._answer(waiting, Handout())
            else:
                self._enter(waiting)  # behind the others: what there is may not be for it

    async def _share(self, waiting: _PendingPoll, name: str, pool: _Pool) -> Poll:
        """Return a poll for its fair share of what is queued, where other executors have free slots
        too.

        Not while so much is handed out that polls take turns anyway: small shares cost statements.
        """
        poll = waiting.poll
        free, others = pool.free_slots(poll.executor)
        if pool.is_deep or not others or poll.free == 1 or self._starts.is_busy(name):
            return poll
        depth = await self._dispatch.queue_depth(name, free + sum(others))
        share = min(poll.free, fair_share(free, others, depth))
        return msgspec.structs.replace(poll, free=share)

    def _end_dequeue(self, task: asyncio.Task[None]) -> None:
        self._dequeues.discard(task)
        if not task.cancelled():
            self._serve()

    def _answer(self, waiting: _PendingPoll, handout: Handout) -> None:
        self._exit(waiting)
        if not waiting.answer.done():
            waiting.answer.set_result(handout)

    def _refuse(self, waiting: _PendingPoll, error: Exception) -> None:
        waiting.dequeue = None
        waiting.answer.set_exception(error)
        waiting.answer.exception()  # it counts as retrieved, should the asker be gone

    async def _listen(self) -> None:
        async for name in self._hints.listen("dispatch"):
            if name:
                self._warm(name)
            else:  # a gap: words may have been lost
                await self._look_again()

    async def _look_again(self) -> None:
        """Make every pool hot that polls wait for, and forget the others."""
        if self._clock.elapsed_s() >= self._looked_elsewhere_s + ELSEWHERE_S:
            await self._look_elsewhere()
        for name, pool in list(self._pools.items()):
            if pool.waiting:
                self._warm(name)
            else:
                del self._pools[name]
        self._serve()

    async def _look_elsewhere(self) -> None:
        """Read how many slots are free of the executors that poll at other gateways."""
        self._looked_elsewhere_s = self._clock.elapsed_s()
        here = {executor for executor, _ in self._polls}
        pools = [name for name, pool in self._pools.items() if pool.waiting]
        free = await self._dispatch.free_elsewhere(pools, here) if pools else {}
        for name in pools:
            if pool := self._pools.get(name):
                pool.elsewhere = free.get(name, ())

    def _warm(self, name: str) -> None:
        if pool := self._pools.get(name):
            pool.hints += 1
            pool.is_hot = True
            self._serve()


def _count(attempts: list[Attempt]) -> None:
    """Count what was handed out, with its lag by the rows' times: this host's clock may be off."""
    HANDED_OUT.inc(len(attempts))
    lags = [
        (attempt.started_at - attempt.due_at).total_seconds()
        for attempt in attempts
        if attempt.number == 1
        and attempt.started_at is not None
        and attempt.kind is not Kind.BACKFILL  # due long ago
    ]
    START_LAG.observe(max(lag_s, 0.0) for lag_s in lags)  # below zero if the clock went back
