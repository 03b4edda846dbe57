"""Where a team is told, by which rules, and its check-ins."""

from __future__ import annotations

from typing import Final

import msgspec
from litestar import Response, Router, get, post
from litestar.params import FromPath, FromQuery

from matins.api.dependencies import (
    AlertReads,
    AlertRuleDeeds,
    ChannelDeeds,
    CheckinDeeds,
    Sources,
)
from matins.domain.alerts.channels import Channel
from matins.domain.jobs.alerting import AlertRules
from matins.domain.values.errors import InvalidInputError, NotFoundError
from matins.domain.values.reading import read_value
from matins.kernel.documents import read_document, yaml_text
from matins.web.editing import Editor
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.rendering import WebRequest, done, page
from matins.web.wording import team_path

ITEM = None
LIVE: list[LivePart] = []

SHOWN_MAX: Final = 20
"""So many messages and alerts are shown."""

NEW_RULES: Final = """\
name: gold
labels: {tier: gold}
rules:
  - {on: dead}
  - {on: late, after: 10m}
"""


EDITOR: Final = Editor(
    "alert rules",
    "alert-rules/edit",
    "alerts",
    "For all jobs of the team, or for those that have all of the labels.",
)


@get("/teams/{team:str}/alerts")
async def show_alerts(
    request: WebRequest, sources: Sources, team: FromPath[str]
) -> Response[bytes]:
    """Show what stands, the channels, the rules, and the latest messages."""
    await sources.teams.share(team)
    alerts = await sources.alerts.open(team)
    return page(
        request,
        "team_alerts.html",
        team=team,
        tab="alerts",
        alerts=alerts.alerts[:SHOWN_MAX],
        total=alerts.total,
        channels=await sources.channels.of_team(team),
        rules=await sources.alerts.rules(team),
        deliveries=await sources.channels.deliveries(team, None, SHOWN_MAX),
    )


@post("/teams/{team:str}/channels")
async def put_channel(
    request: WebRequest, deeds: ChannelDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Add a channel or change its URL; the key of a new webhook is shown this once."""
    form = Form(await request.form())
    kind, url = form.choice("kind", ("webhook", "apprise")), form.text("url")
    channel = Channel(form.text("name"), **{kind: url})
    changed = await deeds.put(team, channel)
    if changed.key:
        return _secret(request, team, "alerts", f"The key of {channel.name}", changed.key)
    return done(request, f"The channel {channel.name} is {changed.change}.", _alerts(team))


@post("/teams/{team:str}/channels/test")
async def test_channel(
    request: WebRequest, deeds: ChannelDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Send a test."""
    name = Form(await request.form()).text("name")
    await deeds.test(team, name)
    text = f"A test is on its way to {name}; the latest messages below say whether it arrives."
    return done(request, text, _alerts(team))


@post("/teams/{team:str}/channels/rotate")
async def rotate_channel(
    request: WebRequest, deeds: ChannelDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Give a webhook a new key."""
    name = Form(await request.form()).text("name")
    changed = await deeds.rotate(team, name)
    return _secret(request, team, "alerts", f"The new key of {name}", changed.key)


@post("/teams/{team:str}/channels/delete")
async def delete_channel(
    request: WebRequest, deeds: ChannelDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Delete a channel; what waits for it is never sent."""
    name = Form(await request.form()).text("name")
    await deeds.delete(team, name)
    return done(request, f"The channel {name} is deleted.", _alerts(team))


@get("/teams/{team:str}/alert-rules/edit")
async def edit_rules(
    request: WebRequest, alerts: AlertReads, team: FromPath[str], name: FromQuery[str] = ""
) -> Response[bytes]:
    """Show rules as YAML, or an example of some."""
    text = NEW_RULES
    if name:
        found = [rules for rules in await alerts.rules(team) if rules.name == name]
        if not found:
            raise NotFoundError(f"team {team} has no alert rules {name!r}")
        text = yaml_text(msgspec.to_builtins(found[0]))
    return EDITOR.show(request, team, name, text)


@post("/teams/{team:str}/alert-rules/edit")
async def put_rules(
    request: WebRequest, rule_deeds: AlertRuleDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Make rules or replace those of a name; what is wrong is told beside what was typed."""
    form = Form(await request.form())
    text = form.text("text")
    try:
        rules = read_value(read_document(text).value, AlertRules)
        changed = await rule_deeds.put(team, rules)
    except InvalidInputError as error:
        return EDITOR.show(request, team, form.text("name"), text, error)
    return done(request, f"The rules {rules.name} are {changed.change}.", _alerts(team))


@post("/teams/{team:str}/alert-rules/delete")
async def delete_rules(
    request: WebRequest, rule_deeds: AlertRuleDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Delete rules; the team's jobs are judged without them from now on."""
    name = Form(await request.form()).text("name")
    await rule_deeds.delete(team, name)
    return done(request, f"The rules {name} are deleted.", _alerts(team))


@get("/teams/{team:str}/check-ins")
async def show_checkins(
    request: WebRequest, sources: Sources, team: FromPath[str]
) -> Response[bytes]:
    """Show the jobs that something else runs, and what was told of them last."""
    await sources.teams.share(team)
    found = await sources.checkins.of_team(team)
    return page(request, "team_checkins.html", team=team, tab="check-ins", checkins=found)


@post("/teams/{team:str}/check-ins/rotate")
async def rotate_checkin(
    request: WebRequest, checkin_deeds: CheckinDeeds, team: FromPath[str]
) -> Response[bytes]:
    """Give a check-in its first address, or a new one."""
    name = Form(await request.form()).text("name")
    token = await checkin_deeds.rotate(team, name)
    address = f"{request.base_url}".rstrip("/") + token.path
    return _secret(request, team, "check-ins", f"Where {name} is told of", address)


def _alerts(team: str) -> str:
    return team_path(team, "alerts")


def _secret(request: WebRequest, team: str, tab: str, title: str, secret: str) -> Response[bytes]:
    """Show what is shown this once: in this answer, and stored in no cookie."""
    back = team_path(team, tab)
    return page(
        request, "team_secret.html", team=team, tab=tab, title=title, secret=secret, back=back
    )


ROUTER = Router(
    "/",
    route_handlers=[
        *(show_alerts, put_channel, test_channel, rotate_channel, delete_channel),
        *(edit_rules, put_rules, delete_rules, show_checkins, rotate_checkin),
    ],
)
