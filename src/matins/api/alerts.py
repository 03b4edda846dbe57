"""Alerts and the rules of teams: /v1/alerts, /v1/teams/{team}/alert-rules."""

from __future__ import annotations

from litestar import Router, delete, get, put
from litestar.params import FromPath, FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.dependencies import AlertReads, AlertRuleDeeds
from matins.api.parameters import check_same_name
from matins.domain.alerts.views import AlertPage, AlertRulesChanged, JobAlerts
from matins.domain.jobs.alerting import AlertRules


@get("/alerts")
async def list_alerts(alerts: AlertReads, team: FromQuery[str | None] = None) -> AlertPage:
    """List the jobs that are bad, and by which rule; those of a team, or of all."""
    return await alerts.open(team)


@get("/teams/{team:str}/jobs/{name:str}/alerts")
async def show_alerts(alerts: AlertReads, team: FromPath[str], name: FromPath[str]) -> JobAlerts:
    """Show the rules that a job is judged by, how it stands, and what was told of it lately."""
    return await alerts.of_job(team, name)


@get("/teams/{team:str}/alert-rules")
async def list_rules(alerts: AlertReads, team: FromPath[str]) -> list[AlertRules]:
    """List the rules that a team has set for its jobs."""
    return await alerts.rules(team)


@put("/teams/{team:str}/alert-rules/{name:str}", dto=Strict[AlertRules], return_dto=None)
async def put_rules(
    rule_deeds: AlertRuleDeeds, team: FromPath[str], name: FromPath[str], data: JSONBody[AlertRules]
) -> AlertRulesChanged:
    """Set rules for all jobs of a team, or for those that have some labels."""
    check_same_name(data.name, name)
    return await rule_deeds.put(team, data)


@delete("/teams/{team:str}/alert-rules/{name:str}", status_code=200)
async def delete_rules(
    rule_deeds: AlertRuleDeeds, team: FromPath[str], name: FromPath[str]
) -> AlertRulesChanged:
    """Delete rules of a team; its jobs are judged without them from now on."""
    return await rule_deeds.delete(team, name)


ROUTER = Router(
    "/",
    tags=["alerts"],
    route_handlers=[list_alerts, show_alerts, list_rules, put_rules, delete_rules],
)
