"""What handlers work with, under the names by which they ask for it: the API's and the page's."""

from __future__ import annotations

from typing import NamedTuple

from litestar.di import NamedDependency, Provide

from matins.api.output_answers import OutputAnswers
from matins.api.principals import principal_of
from matins.api.status import StatusReader
from matins.domain.ports import StatusCache
from matins.domain.ports.output import KeptOutput, LiveOutput
from matins.owners import alert_rules, channels, checkins, owners, sign_ins
from matins.status.watch import StatusWatch
from matins.store.alert_reads import PostgresAlerts
from matins.store.audits import PostgresAudits
from matins.store.backfills import PostgresBackfillChanges
from matins.store.calendars import PostgresCalendars
from matins.store.calls import PostgresCalls
from matins.store.chain_reads import PostgresChainReads
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.cluster import PostgresCluster
from matins.store.database import Database
from matins.store.dead import PostgresDeadLetters
from matins.store.explanations import PostgresExplanations
from matins.store.failures import PostgresFailures
from matins.store.forecasts import PostgresForecasts
from matins.store.job_search import PostgresJobSearch
from matins.store.limits import PostgresLimits
from matins.store.loads import PostgresLoads
from matins.store.naming import PostgresRunNames
from matins.store.outlooks import PostgresOutlooks
from matins.store.previews import PostgresPreviews
from matins.store.reads import PostgresReads
from matins.store.replays import PostgresReplayChanges
from matins.store.revisions import PostgresRevisions
from matins.store.stored_output import StoredOutput
from matins.store.tallies import PostgresTallies
from matins.store.teams import PostgresTeams
from matins.store.timings import KnownCalendars
from matins.store.windows import PostgresWindows

Outlooks = NamedDependency[PostgresOutlooks]
Reads = NamedDependency[PostgresReads]
Outputs = NamedDependency[OutputAnswers]
RunNames = NamedDependency[PostgresRunNames]
ClusterReads = NamedDependency[PostgresCluster]
Owners = NamedDependency[owners.Owners]
Audits = NamedDependency[PostgresAudits]
Calendars = NamedDependency[PostgresCalendars]
Chains = NamedDependency[PostgresChainReads]
Backfills = NamedDependency[PostgresBackfillChanges]
Calls = NamedDependency[PostgresCalls]
Letters = NamedDependency[PostgresDeadLetters]
Replays = NamedDependency[PostgresReplayChanges]
Failures = NamedDependency[PostgresFailures]
Limits = NamedDependency[PostgresLimits]
ChannelReads = NamedDependency[PostgresChannels]
AlertReads = NamedDependency[PostgresAlerts]
AlertRuleDeeds = NamedDependency[alert_rules.TeamRules]
ChannelDeeds = NamedDependency[channels.Channels]
CheckinReads = NamedDependency[PostgresCheckins]
CheckinDeeds = NamedDependency[checkins.Checkins]
Windows = NamedDependency[PostgresWindows]
Previews = NamedDependency[PostgresPreviews]
Explanations = NamedDependency[PostgresExplanations]
Forecasts = NamedDependency[PostgresForecasts]
Teams = NamedDependency[PostgresTeams]
Revisions = NamedDependency[PostgresRevisions]
Principal = NamedDependency[str]
"""The name of the caller's token."""
JobSearch = NamedDependency[PostgresJobSearch]
Loads = NamedDependency[PostgresLoads]
Tallies = NamedDependency[PostgresTallies]
SignIns = NamedDependency[sign_ins.SignIns]
Status = NamedDependency[StatusReader]
System = NamedDependency[StatusWatch]


class Deeds(NamedTuple):
    """What owners do: to jobs and runs, to channels, by check-ins, and to sign in."""

    owners: owners.Owners
    channels: channels.Channels
    checkins: checkins.Checkins
    sign_ins: sign_ins.SignIns


class Dependencies(NamedTuple):
    """What handlers work with, by name."""

    reads: PostgresReads
    run_names: PostgresRunNames
    cluster: PostgresCluster
    owners: owners.Owners
    calendars: PostgresCalendars
    windows: PostgresWindows
    deeds: channels.Channels
    checkin_deeds: checkins.Checkins
    alerts: PostgresAlerts
    rule_deeds: alert_rules.TeamRules
    channels: PostgresChannels
    checkins: PostgresCheckins
    chains: PostgresChainReads
    backfills: PostgresBackfillChanges
    letters: PostgresDeadLetters
    replays: PostgresReplayChanges
    failures: PostgresFailures
    limits: PostgresLimits
    previews: PostgresPreviews
    forecasts: PostgresForecasts
    explanations: PostgresExplanations
    audits: PostgresAudits
    revisions: PostgresRevisions
    teams: PostgresTeams
    outlooks: PostgresOutlooks
    sign_ins: sign_ins.SignIns
    calls: PostgresCalls
    job_search: PostgresJobSearch
    outputs: OutputAnswers
    loads: PostgresLoads
    tallies: PostgresTallies
    status: StatusReader
    system: StatusWatch

    def provided(self) -> dict[str, Provide]:
        """Return them as Litestar takes them, one by one and all as `sources`, with the name of the
        caller's token.
        """

        def provide(part: object) -> Provide:
            return Provide(lambda: part, sync_to_thread=False)

        principal = Provide(principal_of, sync_to_thread=False)
        parts = {name: provide(part) for name, part in self._asdict().items()}
        return parts | {"principal": principal, "sources": provide(self)}


Sources = NamedDependency[Dependencies]


class OutputPorts(NamedTuple):
    """Where the output of attempts is."""

    live: LiveOutput
    kept: KeptOutput


def dependencies_on(
    database: Database, deeds: Deeds, cache: StatusCache, output: OutputPorts, system: StatusWatch
) -> Dependencies:
    """Return what handlers work with. `system` tells whether all is well."""
    reads = PostgresReads(database)
    status = StatusReader(reads, cache)
    stored = StoredOutput(database, output.kept)
    known = KnownCalendars()
    database.server.when_changed(known.forget)
    forecasts = PostgresForecasts(database, known)
    database.server.when_changed(forecasts.forget)
    return Dependencies(
        reads=reads,
        run_names=PostgresRunNames(database, reads),
        cluster=PostgresCluster(database),
        owners=deeds.owners,
        calendars=PostgresCalendars(database),
        windows=PostgresWindows(database),
        deeds=deeds.channels,
        checkin_deeds=deeds.checkins,
        alerts=PostgresAlerts(database),
        rule_deeds=alert_rules.TeamRules(PostgresAlerts(database)),
        channels=PostgresChannels(database),
        checkins=PostgresCheckins(database),
        chains=PostgresChainReads(database),
        backfills=PostgresBackfillChanges(database, known),
        letters=PostgresDeadLetters(database),
        replays=PostgresReplayChanges(database),
        failures=PostgresFailures(database, reads),
        limits=PostgresLimits(database),
        previews=PostgresPreviews(database, known, forecasts),
        forecasts=forecasts,
        explanations=PostgresExplanations(database, reads, known),
        audits=PostgresAudits(database, known),
        revisions=PostgresRevisions(database, reads),
        teams=PostgresTeams(database),
        outlooks=PostgresOutlooks(database),
        sign_ins=deeds.sign_ins,
        calls=PostgresCalls(database),
        job_search=PostgresJobSearch(database),
        outputs=OutputAnswers(status, output.live, stored),
        loads=PostgresLoads(database),
        tallies=PostgresTallies(database),
        status=status,
        system=system,
    )
