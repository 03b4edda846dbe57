"""Every command: the module that has it, and the line by which help lists it.

Importing is most of what a command takes, so lists of commands come from here, and the module of a
command is imported when that command is meant.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

from matins.cli.showing import tell

GROUPS = {
    "jobs": "Look at jobs and at what comes of them, stop them, run them now.",
    "runs": "Look at runs, watch them, cancel them, try them again now or no more.",
    "dead": "Look at runs that are given up, replay and dismiss them.",
    "calendars": "Look at calendars, make them of holidays and files.",
    "windows": "Hold runs back, or skip them, while something is being mended.",
    "backfill": "Make up for past due times of a job, under the revisions of then.",
    "teams": "Look at teams, how they share the pools, and what is kept of their output.",
    "limits": "Limit how many runs of a team's jobs go on at once, or start in a time.",
    "quotas": "Look at what teams may have at most, and change it.",
    "alerts": "Look which jobs are bad, and set by what rules that is judged.",
    "channels": "Say where a team is told when a job turns bad, and test it.",
    "checkins": "Be told of jobs that something else runs, by a URL that they call.",
    "executors": "Look at the executors, which call the targets.",
}
COMMANDS = {
    "up": ("serving", "Start all of Matins on this machine, with demo jobs on the first start."),
    "api": ("serving", "Run an API: for owners, and the gateway for executors."),
    "scheduler": ("serving", "Run a scheduler: it claims what is due."),
    "executor": ("serving", "Run an executor: it calls the targets."),
    "migrate": ("serving", "Bring the schema of PostgreSQL up to date."),
    "apply": ("files", "Make or change the jobs and calendars of a file."),
    "preview": ("previews", "Show when a schedule is due, in words and in instants."),
    "forecast": ("forecasts", "Show how often jobs will fire in the coming hours."),
    "audit": ("audits", "Compute anew what was due and compare it with what is recorded."),
    "status": ("system", "Tell in one look whether all is well, and what to do where it is not."),
    "sign-in": ("signing_in", "Print a link that signs a browser in to the web page, once."),
    "cluster": ("clusters", "Show the schedulers, and the partitions that none of them holds."),
    "resume-after-restore": (
        "restoring",
        "Decide about due times that may have run before the database was restored.",
    ),
    "logs": ("logs", "Print what a run wrote, or has written so far."),
    "explain": ("explaining", "Tell why a run did, did not, or does not yet happen."),
    "jobs list": ("job_lists", "List jobs with what they will do next."),
    "jobs show": ("jobs", "Show a job as its owner wrote it, and where it stands."),
    "jobs pause": ("pausing", "Let nothing of a job run until it is resumed."),
    "jobs resume": ("pausing", "Let a paused job go on."),
    "jobs label": (
        "labelling",
        "Add labels to a job and drop others, or to all jobs that a team and labels select.",
    ),
    "jobs delete": ("jobs", "Delete a job."),
    "jobs trigger": ("jobs", "Run a job now, whatever its schedule says."),
    "jobs history": (
        "histories",
        "List what a job was, newest first: who changed it, when, why, and what.",
    ),
    "jobs diff": ("histories", "Show how two revisions of a job differ."),
    "jobs rollback": ("histories", "Make a job what it was by an earlier revision, as a new one."),
    "jobs preview": ("occurrences", "Show when a job is due next."),
    "jobs skip": ("occurrences", "Skip one occurrence of a job."),
    "jobs move": ("occurrences", "Move one occurrence of a job to another instant."),
    "jobs restore": ("occurrences", "Undo the override of an occurrence."),
    "runs list": ("runs", "List runs, newest due time first."),
    "runs show": ("runs", "Show a run with its attempts and what they wrote."),
    "runs watch": ("runs", "Watch the newest runs live."),
    "runs cancel": ("runs", "End a run."),
    "runs retry": ("runs", "Make the next attempt of a run now."),
    "runs stop-retrying": ("runs", "End a run that is to be tried again."),
    "dead list": ("dead", "List dead letters of a team, newest due time first, or groups of them."),
    "dead show": ("dead", "Show why a run is dead, with its attempts and what they wrote."),
    "dead replay": ("dead", "Replay dead runs."),
    "dead replays": ("dead", "List replays of a team, newest first, and how far they are."),
    "dead cancel": ("dead", "End a replay."),
    "dead dismiss": ("dead", "Dismiss dead letters."),
    "calendars list": ("calendars", "List a team's calendars, and how many jobs follow each."),
    "calendars show": (
        "calendars",
        "Show a calendar as it was written, and the days that it closes next.",
    ),
    "calendars import": (
        "importing",
        "Make or replace a calendar that is closed at the events of an iCalendar file.",
    ),
    "calendars holidays": (
        "calendars",
        "Make or replace a calendar that is closed at the public holidays of a country.",
    ),
    "calendars delete": ("calendars", "Delete a calendar that no job follows."),
    "limits list": (
        "limits",
        "List a team's concurrency keys, then the limits of its jobs, with what is taken.",
    ),
    "limits put": ("limits", "Set the limits of a concurrency key."),
    "limits delete": ("limits", "Let the limits count that the jobs of a key say themselves."),
    "quotas show": ("quotas", "Show the quotas of a team beside their use."),
    "quotas set": ("quotas", "Change quotas of a team."),
    "alerts list": ("alerts", "List the jobs that are bad, and by which rule."),
    "alerts show": (
        "alerts",
        "Show the rules that a job is judged by, how it stands, and what was told of it lately.",
    ),
    "alerts rules": (
        "alerts",
        "List the rules that a team has set for all its jobs, or those with some labels.",
    ),
    "alerts set-rules": (
        "alerts",
        "Set rules for all jobs of a team, or for those with some labels.",
    ),
    "alerts delete-rules": ("alerts", "Delete rules of a team; its jobs are judged without them."),
    "channels list": (
        "channels",
        "List a team's channels, and whether what is sent to them arrives.",
    ),
    "channels add": ("channels", "Make a channel, or change its URL."),
    "channels test": ("channels", "Send a test to a channel, and wait for what comes of it."),
    "channels rotate": ("channels", "Give a webhook a new key."),
    "channels remove": ("channels", "Delete a channel."),
    "checkins list": ("checkins", "List a team's check-ins, and what was told of them last."),
    "checkins show": ("checkins", "Show a check-in, and what was told of it last."),
    "checkins add": ("checkins", "Watch a job that something else runs."),
    "checkins rotate": ("checkins", "Give a check-in a new token."),
    "checkins remove": ("checkins", "Delete a check-in."),
    "windows list": (
        "windows",
        "List a team's windows: in force, to come, and those that were over within 30 days.",
    ),
    "windows put": ("windows", "Make or replace a window."),
    "windows delete": ("windows", "End a window at once."),
    "backfill start": ("backfills", "Make up for the past due times of a job."),
    "backfill list": ("backfills", "List backfills, newest first."),
    "backfill show": ("backfills", "Show how far a backfill is, and what it leaves out and why."),
    "backfill pause": ("backfills", "Let a backfill make no more runs until it is resumed."),
    "backfill resume": ("backfills", "Let a paused backfill go on."),
    "backfill cancel": ("backfills", "End a backfill: it makes no more runs."),
    "teams list": ("teams", "List teams with their weights."),
    "teams output": ("teams", "Show or set what is kept of the output of a team's attempts."),
    "teams set": ("teams", "Set the weight by which a team's runs share the pools with others'."),
    "executors list": ("executors", "List executors alive, and those that ended within a day."),
}
"""By its full name: the module, and the line of help, with which the text in the module begins."""


class Later(TyperCommand):
    """A command of which only a line of help is known, until it is meant."""

    def __init__(self, name: str, module: str, line: str) -> None:
        super().__init__(name, short_help=line, rich_markup_mode=None)
        self._module = module

    def load(self) -> Any:  # noqa: ANN401 # what Typer makes of it has no public type
        """Import the command."""
        for info in import_module(f"matins.cli.{self._module}").commands.registered_commands:
            if self.name in (info.name, info.callback.__name__):
                return get_command_from_info(
                    info, pretty_exceptions_short=False, rich_markup_mode=None
                )
        raise LookupError(f"the module {self._module} has no command {self.name}")

    def make_context(self, *words: Any, **more: Any) -> Any:  # noqa: ANN401 # Typer's own
        """Let the command itself read its words, and run."""
        return self.load().make_context(*words, **more)


class Group(TyperGroup):
    """Commands by their names. Without one it shows its help, which is wrong usage all the same."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # Typer's own context is its base
        """Read the words that come before the name of a command."""
        if not args and not ctx.resilient_parsing:
            tell(ctx.get_help())
            raise typer.Exit(2)
        return super().parse_args(ctx, args)


def commands_of(group: str = "") -> dict[str, Any]:
    """Return the commands of a group, or all groups and the commands that are in none."""
    prefix = f"{group} " if group else ""
    commands: dict[str, TyperCommand | Group] = {
        name.removeprefix(prefix): Later(name.removeprefix(prefix), module, line)
        for name, (module, line) in COMMANDS.items()
        if name.startswith(prefix) and " " not in name.removeprefix(prefix)
    }
    if not group:
        commands |= {name: _group(name, line) for name, line in GROUPS.items()}
    return commands


def _group(name: str, line: str) -> Group:
    return Group(
        name=name, help=line, short_help=line, commands=commands_of(name), rich_markup_mode=None
    )
