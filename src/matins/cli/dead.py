"""`matins dead`: look at the runs that are given up, replay and dismiss them."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
import typer
from rich.text import Text

from matins.cli import watching
from matins.cli.connecting import change, split_name, with_api
from matins.cli.failing import failure_pairs
from matins.cli.inputs import Args, Body, Env, Headers, Key, read_input
from matins.cli.run_names import TheRun, find_runs
from matins.cli.runs import show_attempts, standing
from matins.cli.showing import AsJson, local, print_json
from matins.cli.tables import Cell, console, facts, state, table
from matins.cli.watching import Watch
from matins.client.sdk import Matins
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.dead import (
    DeadFilter,
    DeadGroup,
    DeadLetter,
    DismissDead,
    Dismissed,
    RunFailure,
)
from matins.domain.runs.inputs import NO_INPUT
from matins.domain.runs.replays import RATE, Replay, ReplayDead
from matins.domain.values.errors import InvalidInputError
from matins.domain.values.names import DEFAULT_TEAM
from matins.domain.views import AttemptRecord
from matins.insight.explain.english import counted
from matins.kernel.moments import HELP, parse_moment

commands = typer.Typer()

OfJob = Annotated[
    str | None, typer.Option("--job", metavar="TEAM/NAME", help="Only those of this job.")
]
OfTeam = Annotated[str, typer.Option("--team", help="Whose, unless a job is named.")]
OfFingerprint = Annotated[
    str | None, typer.Option("--fingerprint", help="Only those with this fingerprint.")
]
Since = Annotated[str | None, typer.Option(help=f"Only what died since then. {HELP}.")]
Until = Annotated[str | None, typer.Option(help="Only what died before then.")]
TheRuns = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Dead runs: ids, or how they begin; TEAM/NAME for the job's last run that failed, or"
        " TEAM/NAME@2026-11-30T02:00.",
    ),
]
Rate = Annotated[
    str | None, typer.Option(help=f"So many at most: 5/s, 100/m, 20/h; {RATE} without it.")
]
AllowOverlap = Annotated[
    bool, typer.Option("--allow-overlap", help="Start a new run whatever other runs there are.")
]
Everything = Annotated[bool, typer.Option("--everything", help="All of the team's.")]

_HEADS = ("RUN", "JOB", "DIED", "FINGERPRINT", "ERROR")
_STACKS = (("RUN", "JOB", "ERROR"), ("DIED", "FINGERPRINT"))
_GROUP_HEADS = ("COUNT", "JOB", "FINGERPRINT", "FIRST", "LAST", "ERROR")
_GROUP_STACKS = (("COUNT", "FINGERPRINT"), ("JOB", "ERROR"), ("FIRST", "LAST"))

_REPLAY_HEADS = ("REPLAY", "JOB", "STATE", "REPLAYED", "LEFT OUT", "OF", "RATE", "ENDS")
_REPLAY_STACKS = (("REPLAY", "JOB"), ("STATE", "RATE"), ("REPLAYED", "LEFT OUT", "OF"), ("ENDS",))


class DeadView(msgspec.Struct, frozen=True):
    """Why a run failed, with its attempts, as `dead show --json` prints it."""

    failure: RunFailure
    attempts: list[AttemptRecord]


@commands.command("list", epilog="Example: matins dead list --job payments/nightly --groups")
def list_letters(  # noqa: PLR0913, PLR0917 # a command's options
    job: OfJob = None,
    team: OfTeam = DEFAULT_TEAM,
    fingerprint: OfFingerprint = None,
    since: Since = None,
    until: Until = None,
    groups: Annotated[
        bool, typer.Option("--groups", help="Count those with the same fingerprint together.")
    ] = False,
    dismissed: Annotated[
        bool, typer.Option("--dismissed", help="Those that were dismissed, instead.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most that are listed.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List dead letters of a team, newest due time first, or groups of them, largest first."""
    team, chosen = _chosen(job, team, fingerprint, since, until)
    printer = console()
    if groups:
        if dismissed:
            raise InvalidInputError.at("--dismissed", "has no groups; leave --groups out")
        counted_groups = with_api(lambda client: client.list_dead_groups(team, chosen, limit=limit))
        if as_json:
            print_json(counted_groups)
        else:
            rows = [_group_row(team, group) for group in counted_groups]
            printer.print(table(printer, _GROUP_HEADS, rows, _GROUP_STACKS))
        return
    letters = with_api(
        lambda client: client.dead_page(team, chosen, dismissed=dismissed, limit=limit)
    ).letters
    if as_json:
        print_json(letters)
    else:
        printer.print(table(printer, _HEADS, [_row(letter) for letter in letters], _STACKS))


@commands.command(epilog="Example: matins dead show payments/nightly")
def show(run: TheRun, as_json: AsJson = False) -> None:
    """Show why a run is dead, with its attempts and what they wrote."""

    async def work(client: Matins) -> DeadView:
        [run_id] = await find_runs(client, [run])
        return DeadView(await client.get_failure(run_id), await client.list_attempts(run_id))

    view = with_api(work)
    if as_json:
        print_json(view)
        return
    console().print(facts(_letter_pairs(view.failure)))
    show_attempts(view.attempts)


@commands.command(epilog="Example: matins dead replay --job payments/nightly --rate 100/m --watch")
def replay(  # noqa: PLR0913, PLR0917 # a command's options
    runs: TheRuns = None,
    job: OfJob = None,
    team: OfTeam = DEFAULT_TEAM,
    fingerprint: OfFingerprint = None,
    since: Since = None,
    until: Until = None,
    everything: Everything = False,
    rate: Rate = None,
    *,
    args: Args = None,
    env: Env = None,
    headers: Headers = None,
    body: Body = None,
    key: Key = None,
    allow_overlap: AllowOverlap = False,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Replay dead runs: a single one at once; several, or all that meet the options, at a rate.

    Each gets one attempt more, as the same run. If it succeeds, jobs that follow it start after
    all. A single one can be replayed with --arg, --env, --header or --body changed, as
    a new run.
    """
    team, chosen = _chosen(job, team, fingerprint, since, until)
    run_input = read_input(args, env, headers, body)
    is_single = chosen == DeadFilter() and not everything and rate is None
    if is_single and runs is not None and len(runs) == 1:
        if watch:
            raise InvalidInputError.at("--watch", "is for replays at a rate; see `runs show`")

        async def replay_one(client: Matins) -> RunStatus:
            [run] = await find_runs(client, runs)
            return await client.replay_run(run, run_input, key=key, allow_overlap=allow_overlap)

        change(replay_one, standing, as_json=as_json)
        return
    if run_input != NO_INPUT or key is not None or allow_overlap:
        raise InvalidInputError.at("RUN", "must be a single one if it is replayed with an input")
    fields = msgspec.structs.asdict(chosen)
    wanted = ReplayDead(**fields, everything=everything, rate=rate or RATE)
    work = partial(_start_replays, team=team, wanted=wanted, runs=runs or ())
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            with_api(partial(_watch_replays, work, as_json=as_json))
        return
    change(work, lambda replays: "\n".join(map(_replay_words, replays)), as_json=as_json)


@commands.command(epilog="Example: matins dead replays --team payments")
def replays(team: OfTeam = DEFAULT_TEAM, as_json: AsJson = False) -> None:
    """List replays of a team, newest first, and how far they are."""
    newest = with_api(lambda client: client.list_replays(team))
    if as_json:
        print_json(newest)
        return
    printer = console()
    rows = [_replay_row(replay) for replay in newest]
    printer.print(table(printer, _REPLAY_HEADS, rows, _REPLAY_STACKS))


@commands.command(epilog="Example: matins dead cancel 5f0c7c5a-8a8e-4b0e-9d5e-0f6f2b1c9a11")
def cancel(
    replay: Annotated[UUID, typer.Argument(metavar="REPLAY", help="The replay's id.")],
    as_json: AsJson = False,
) -> None:
    """End a replay. What it has replayed goes on, the other letters stay as they are."""
    change(lambda client: client.cancel_replay(replay), _replay_words, as_json=as_json)


@commands.command(
    epilog='Example: matins dead dismiss --job payments/nightly --note "settled by hand"'
)
def dismiss(  # noqa: PLR0913, PLR0917 # a command's options
    runs: TheRuns = None,
    job: OfJob = None,
    team: OfTeam = DEFAULT_TEAM,
    fingerprint: OfFingerprint = None,
    since: Since = None,
    until: Until = None,
    everything: Everything = False,
    note: Annotated[str, typer.Option(help="Why, for those who look at it later.")] = "",
    as_json: AsJson = False,
) -> None:
    """Dismiss dead letters: single runs, or all that meet the options. Their runs stay dead."""
    team, chosen = _chosen(job, team, fingerprint, since, until)
    dismissal = DismissDead(**msgspec.structs.asdict(chosen), everything=everything, note=note)

    async def work(client: Matins) -> Dismissed:
        if not runs:
            return await client.dismiss_dead(team, dismissal)
        done = []
        for of_team, own in (await _by_team(client, await find_runs(client, runs))).items():
            of_runs = msgspec.structs.replace(dismissal, runs=own)
            done.append(await client.dismiss_dead(of_team, of_runs))
        return Dismissed(sum(answer.dismissed for answer in done))

    change(
        work, lambda done: f"dismissed  {counted(done.dismissed, 'dead letter')}", as_json=as_json
    )


def _chosen(
    job: str | None,
    team: str,
    fingerprint: str | None,
    since: str | None,
    until: str | None,
) -> tuple[str, DeadFilter]:
    """Return whose letters are meant, and which."""
    of_team, name = (team, None) if job is None else split_name(job)
    begin = None if since is None else parse_moment("--since", since)
    end = None if until is None else parse_moment("--until", until)
    return of_team, DeadFilter(name, fingerprint, begin, end)


async def _by_team(client: Matins, runs: Sequence[UUID]) -> dict[str, list[UUID]]:
    """Return runs by their teams."""
    by_team: dict[str, list[UUID]] = defaultdict(list)
    for run in runs:
        by_team[(await client.get_run(run)).team].append(run)
    return by_team


def _replay_words(replay: Replay) -> str:
    done = f"{replay.replayed} of {counted(replay.planned, 'dead letter')}"
    return f"{replay.state}  {replay.id}  {done}, {replay.rate}"


async def _start_replays(
    client: Matins, team: str, wanted: ReplayDead, runs: Sequence[str]
) -> list[Replay]:
    """Replay the runs that are named, or what is wanted of a team."""
    if not runs:
        return [await client.replay_dead(team, wanted)]
    return [
        await client.replay_dead(of_team, msgspec.structs.replace(wanted, runs=own))
        for of_team, own in (await _by_team(client, await find_runs(client, runs))).items()
    ]


async def _watch_replays(
    start: Callable[[Matins], Awaitable[list[Replay]]], client: Matins, *, as_json: bool
) -> None:
    for replay in await start(client):
        look = partial(client.get_replay, replay.id)
        await watching.watch(replay, look, _replay_progress, as_json=as_json)


def _replay_progress(replay: Replay) -> Text:
    return Text(_replay_words(replay))


def _replay_row(replay: Replay) -> tuple[Cell, ...]:
    return (
        str(replay.id),
        f"{replay.team}/{replay.job or '*'}",
        state(replay.state),
        str(replay.replayed),
        str(replay.left_out),
        str(replay.planned),
        replay.rate,
        local(replay.finished_at or replay.ends_at),
    )


def _row(letter: DeadLetter) -> tuple[Cell, ...]:
    name, died = f"{letter.team}/{letter.job}", local(letter.dead_at)
    return str(letter.run_id), name, died, letter.fingerprint, letter.error


def _group_row(team: str, group: DeadGroup) -> tuple[Cell, ...]:
    return (
        str(group.count),
        f"{team}/{group.job}",
        group.fingerprint,
        local(group.first_dead_at),
        local(group.last_dead_at),
        group.error,
    )


def _letter_pairs(failure: RunFailure) -> list[tuple[str, Cell]]:
    pairs: list[tuple[str, Cell]] = [
        ("run", str(failure.run_id)),
        ("job", f"{failure.team}/{failure.job}"),
    ]
    if failure.letter is not None:
        pairs += [
            ("due time", local(failure.letter.due_at)),
            ("died", local(failure.letter.dead_at)),
            ("reason", failure.letter.reason),
        ]
    return pairs + failure_pairs(failure)
