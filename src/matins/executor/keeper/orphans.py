"""Processes that outlived the command that started them, wherever they hid."""

from __future__ import annotations

import os
from collections.abc import Iterable

from matins.executor.keeper.proc import (
    IS_LINUX,
    children,
    environment,
    group_of,
    is_group_alive,
    kill,
    started_at,
)


class Family:
    """By what the processes of one command are known: group, inherited marks, and age."""

    def __init__(self, leader: int, marks: set[bytes]) -> None:
        self.leader = leader
        self._marks = marks
        self._started_at = started_at(leader) or 0

    def claims(self, pid: int) -> bool:
        """Whether a process bears the group or the marks of this command."""
        return group_of(pid) == self.leader or bool(self._marks and self._marks <= environment(pid))

    def is_younger_than(self, pid: int) -> bool:
        """Whether a process was there before this command, and so can't come from it."""
        born = started_at(pid)
        return born is not None and born < self._started_at


class Orphans:
    """Finds, kills and reaps what the keeper adopted."""

    def __init__(self) -> None:
        self._given_up: set[int] = set()

    def clear(self, family: Family, others: Iterable[Family]) -> list[int]:
        """Kill what is left of a command; gives the pids that are still there, best none.

        `others` are the commands that still run. A process that hides from all signs (new session,
        empty environment) is killed as soon as it is older than all commands that still run.
        """
        if not IS_LINUX:
            return [family.leader] if is_group_alive(family.leader) else []
        running = list(others)
        while True:
            adopted = self._adopted({other.leader for other in running})
            left = [pid for pid in adopted if _belongs(pid, family, running)]
            for pid in left:
                kill(pid)
            if not [pid for pid in adopted if _reap(pid)]:  # what ended may have left orphans
                return [pid for pid in left if pid not in self._given_up]

    def give_up(self, pids: Iterable[int]) -> None:
        """Wait no longer for processes that do not die."""
        self._given_up.update(pids)

    def reap(self, leaders: set[int]) -> None:
        """Take leave of adopted processes that ended by themselves."""
        for pid in self._adopted(leaders):
            _reap(pid)

    def _adopted(self, leaders: set[int]) -> list[int]:
        found = [pid for pid in children() if pid not in leaders]
        self._given_up.intersection_update(found)
        return found


def _belongs(pid: int, family: Family, others: list[Family]) -> bool:
    return family.claims(pid) or all(other.is_younger_than(pid) for other in others)


def _reap(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] != 0
