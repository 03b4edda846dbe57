"""The sentences of explanations: what reasons of rows mean, and what to do about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from matins.domain.audit import Revision
from matins.domain.executors.fleet import instant
from matins.domain.runs.admission.waiting import TO_BE_ADMITTED
from matins.domain.values.durations import format_duration
from matins.domain.values.errors import MatinsError
from matins.insight.explain.english import counted
from matins.insight.explain.sentences import explain
from matins.insight.why.facts import ExplainedJob, WaitingPlace


class Told(NamedTuple):
    """What a reason means, and what to do; the latter may be empty."""

    sentence: str
    advice: str = ""

    @property
    def so(self) -> str:
        """Both on one line."""
        return f"{self.sentence}; {self.advice}" if self.advice else self.sentence


_TRIGGER: Final = "to run it all the same: `matins jobs trigger {title}`"
_MAKE_UP: Final = "`matins backfill start {title}` makes up for it"

_SKIPS: Final[dict[str, Told]] = {
    "paused": Told(
        "the job was paused", "`matins jobs resume --missed last` runs the newest of a pause"
    ),
    "quarantined": Told("the job was quarantined", _TRIGGER),
    "changed": Told("the job was changed before it was claimed, and a change runs nothing"),
    "deleted": Told("the job was deleted before it was claimed"),
}
"""By the whole of the reason."""

_SKIPS_BY_BEGIN: Final[dict[str, Told]] = {
    "restore: ": Told("{rest}", "`matins resume-after-restore` decides about those that wait"),
    "misfire: ": Told("it was missed, and the misfire policy `{rest}` left it out", _MAKE_UP),
    "calendar ": Told("it is closed by calendar {rest}"),
    "skipped by an override: ": Told("its owner skipped this occurrence: {rest}"),
    "skipped by an override": Told("its owner skipped this occurrence"),
    "moved to ": Told("its owner moved this occurrence to {rest}"),
    "maintenance ": Told("it fired in a maintenance window that skips: {rest}", _MAKE_UP),
    "overlap: ": Told(
        "{rest}, and the job's overlap policy skips",
        "with `overlap: queue` it would wait, with `allow` run beside it",
    ),
    "upstream ": Told("what it follows did not let it start: {rest}", _TRIGGER),
}
"""By how the reason begins; the first that fits. The rest of it says which, or why."""


def skipped(job: ExplainedJob, reason: str) -> Told:
    """Tell why a due time does not run, by the reason that its row has or will have."""
    summary, rest = _SKIPS.get(reason), ""
    if summary is None:
        begins = [begin for begin in _SKIPS_BY_BEGIN if reason.startswith(begin)]
        summary = _SKIPS_BY_BEGIN[begins[0]] if begins else Told("{rest}")
        rest = reason.removeprefix(begins[0]) if begins else reason
    return Told(summary.sentence.format(rest=rest), summary.advice.format(title=job.title))


def _by_window(job: ExplainedJob, _reason: str, place: WaitingPlace) -> str:
    name = place.blocker or "NAME"
    return f"it goes on by itself; at once by `matins windows delete {job.team}/{name}`"


def _by_overlap(_job: ExplainedJob, reason: str, _place: WaitingPlace) -> str:
    blocker = _RUN.search(reason)
    if blocker is None:
        return "it starts when that has ended"
    run = blocker[1]
    return f"`matins explain {run}` tells of that one, `matins runs cancel {run}` ends it"


def _by_gate(job: ExplainedJob, _reason: str, place: WaitingPlace) -> str:
    gate = place.gate
    if gate is None:
        return "it starts when a run that is in has ended, or when the limit is raised"
    raised = {
        "key": f"`matins limits put {job.team}/{gate.name}`",
        "job": "`max_running` or `rate` of the job",
        "team": f"`matins quotas set {job.team}`",
    }
    before = f"{counted(gate.before, 'run')} before it in the line; " if gate.before else ""
    return f"{before}{counted(gate.taken, 'run')} in; to let more in: {raised[gate.kind]}"


_RUN: Final = re.compile(r"\brun ([0-9a-f-]{36})\b")

_WAITS: Final[dict[str, Callable[[ExplainedJob, str, WaitingPlace], str]]] = {
    "window": _by_window,
    "overlap": _by_overlap,
    "gate": _by_gate,
}
"""By the member of admission that holds a run."""


def waiting(job: ExplainedJob, reason: str, place: WaitingPlace | None) -> Told:
    """Tell why a run waits, and what ends it."""
    if reason == TO_BE_ADMITTED:
        return Told("it was claimed and is to be asked about", "that takes a moment")
    advise = _WAITS.get(place.cause) if place else None
    advice = advise(job, reason, place) if advise and place else ""
    return Told(reason.removeprefix("overlap: "), advice)


def unserved(pool: str) -> str:
    """Return how to start an executor for a pool."""
    return f"start one with `MATINS_POOLS={pool} matins executor`"


def behind(why: str) -> str:
    """Return a reason why nothing is claimed, with what to do."""
    return f"{why}; start one with `matins scheduler`" if "no scheduler" in why else why


def schedule_words(job: ExplainedJob, revision: Revision) -> str:
    """Return in English when a job is due by a revision."""
    schedule = revision.spec.schedule
    if schedule is None:
        return "without a schedule"
    try:
        summary = explain(schedule, seed=str(job.id), anchor=revision.timing.anchor)
    except MatinsError as error:
        return str(error)
    return summary[:1].lower() + summary[1:].removesuffix(".")


def by_revision(job: ExplainedJob, revision: Revision) -> str:
    """Return by which revision something was due, and what that says."""
    since = instant(revision.effective_at)
    words = schedule_words(job, revision)
    return f"by revision {revision.number}, in force since {since}: {words}"


def span(begin: datetime, end: datetime) -> str:
    """Return how long it is from one instant to another, to the millisecond below a minute."""
    seconds = (end - begin).total_seconds()
    return format_duration(max(0.0, seconds if seconds < 60 else seconds // 1))
