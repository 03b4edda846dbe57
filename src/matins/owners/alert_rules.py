"""What owners do to the alert rules of a team."""

from __future__ import annotations

from matins.domain.alerts.views import AlertRulesChanged
from matins.domain.jobs.alerting import AlertRules
from matins.domain.ports.alerts import RuleStore
from matins.domain.values.errors import NotFoundError, check
from matins.domain.values.names import check_name


class TeamRules:
    """Sets rules for the jobs of a team that have some labels; its jobs are judged anew."""

    def __init__(self, store: RuleStore) -> None:
        self._store = store

    async def put(self, team: str, rules: AlertRules) -> AlertRulesChanged:
        """Make rules or replace those of that name. Raises InvalidInputError."""
        check_name("team", team)
        check(rules.problems())
        before = await self._store.put_rules(team, rules)
        if before == rules:
            return AlertRulesChanged(rules, "unchanged")
        return AlertRulesChanged(rules, "created" if before is None else "changed")

    async def delete(self, team: str, name: str) -> AlertRulesChanged:
        """Delete rules. Raises NotFoundError."""
        check_name("team", team)
        check_name("name", name)
        before = await self._store.delete_rules(team, name)
        if before is None:
            raise NotFoundError(f"team {team} has no alert rules {name!r}")
        return AlertRulesChanged(before, "deleted")
