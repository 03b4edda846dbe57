"""`matins alerts`: which jobs are bad, what was told of it, and the rules of a team."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import console, table
from matins.cli.windows import read_labels
from matins.domain.alerts.views import Alert, AlertRulesChanged, JobAlerts
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.values.names import DEFAULT_TEAM
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document

_HEADS = ("JOB", "RULE", "SINCE", "WHY")

commands = typer.Typer()


@commands.command("list", epilog="Example: matins alerts list --team payments")
def list_alerts(
    team: Annotated[str | None, typer.Option(help="Only jobs of this team.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the jobs that are bad, and by which rule. Exit code 1 if there are any."""
    page = with_api(lambda client: client.alerts_page(team))
    if as_json:
        print_json(page)
    elif page.alerts:
        printer = console()
        printer.print(table(printer, _HEADS, [_row(alert) for alert in page.alerts]))
        if page.total > len(page.alerts):
            tell(f"and {page.total - len(page.alerts)} more")
    else:
        tell("no job is bad")
    if page.alerts:
        raise typer.Exit(1)


@commands.command(epilog="Example: matins alerts show payments/nightly-settlement")
def show(job: Named, as_json: AsJson = False) -> None:
    """Show the rules that a job is judged by, how it stands, and what was told of it lately."""
    team, name = split_name(job)
    job_alerts = with_api(lambda client: client.get_job_alerts(team, name))
    if as_json:
        print_json(job_alerts)
        return
    _show(job_alerts)


@commands.command(epilog="Example: matins alerts rules --team payments")
def rules(
    team: Annotated[str, typer.Option(help="Whose rules.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List the rules that a team has set for all its jobs, or those with some labels."""
    groups = with_api(lambda client: client.list_alert_rules(team))
    if as_json:
        print_json(groups)
        return
    rows = [(f"{team}/{group.name}", _labels(group), _keys(group.rules)) for group in groups]
    printer = console()
    printer.print(table(printer, ("RULES", "LABELS", "ON"), rows))


@commands.command(
    "set-rules",
    epilog="Example: matins alerts set-rules payments/gold --label tier=gold"
    " --rule '{on: late, after: 10m}'",
)
def set_rules(
    name: Named,
    rule: Annotated[list[str], typer.Option(help="A rule, as in a job file; may be repeated.")],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs with this label, as KEY=VALUE; with all of them, if several."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set rules for all jobs of a team, or for those with some labels."""
    team, group = split_name(name)
    listed = [read_value(read_document(text).value, AlertRule) for text in rule]
    wanted = AlertRules(group, listed, read_labels(label or []))
    change(
        lambda client: client.put_alert_rules(team, wanted), partial(_words, team), as_json=as_json
    )


@commands.command("delete-rules", epilog="Example: matins alerts delete-rules payments/gold")
def delete_rules(name: Named, as_json: AsJson = False) -> None:
    """Delete rules of a team; its jobs are judged without them."""
    team, group = split_name(name)
    change(
        lambda client: client.delete_alert_rules(team, group),
        partial(_words, team),
        as_json=as_json,
    )


def _show(job: JobAlerts) -> None:
    tell(f"{job.team}/{job.job}  looked at: {local(job.looked_at)}")
    tell(f"rules: {_keys(job.rules)}")
    for alert in job.alerts:
        tell(f"bad: {alert.rule} since {local(alert.since)}: {alert.reason}")
    for notified in job.notices:
        notice = notified.notice
        line = f"{local(notice.at)}  {notice.turn.value}  {notice.rule}: {notice.reason}"
        tell(f"{line}  → {notified.channel}, {notified.state}")


def _row(alert: Alert) -> tuple[str, ...]:
    return f"{alert.team}/{alert.job}", alert.rule, local(alert.since), alert.reason


def _keys(listed: list[AlertRule]) -> str:
    return ", ".join(rule.key for rule in listed)


def _labels(group: AlertRules) -> str:
    return ",".join(f"{key}={value}" for key, value in group.labels.items())


def _words(team: str, answer: AlertRulesChanged) -> str:
    return f"{answer.change}  {team}/{answer.rules.name}  {_keys(answer.rules.rules)}"
