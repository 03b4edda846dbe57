"""The page of what stands behind the jobs: schedulers, partitions, executors, engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from litestar import Response, Router, get, post

from matins.api.dependencies import Dependencies, Owners, Sources
from matins.domain.runs.cluster import Cluster, SchedulerRecord
from matins.domain.runs.restores import Resumption
from matins.domain.status.findings import FindingKind, SystemStatus
from matins.domain.status.loads import Engine
from matins.domain.views import ExecutorRecord
from matins.web.charts.partitions import Strip, name_of, ranges, strip
from matins.web.forms import Form
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, done, page, render
from matins.web.wording import plural

ITEM = NavigationItem("Cluster", "/cluster", "u")


class Holder(NamedTuple):
    """A scheduler as the page shows it."""

    name: str
    record: SchedulerRecord
    partitions: str


class FleetView(NamedTuple):
    """The executors that work now, those that ended within a day, and what they have to do."""

    working: Sequence[ExecutorRecord]
    ended: Sequence[ExecutorRecord]
    busy: int
    slots: int

    @classmethod
    def of(cls, executors: Sequence[ExecutorRecord]) -> FleetView:
        """Sort executors, and count the slots of those that are alive."""
        working = [executor for executor in executors if executor.ended_at is None]
        alive = [executor for executor in working if executor.state == "alive"]
        return cls(
            working,
            [executor for executor in executors if executor.ended_at is not None],
            sum(executor.running for executor in alive),
            sum(executor.slots for executor in alive),
        )


class ShownCluster(NamedTuple):
    """All that is live on the page."""

    status: SystemStatus
    cluster: Cluster
    holders: Sequence[Holder]
    strip: Strip
    fleet: FleetView
    engine: Engine
    cache_fault: str


@get("/cluster")
async def show_cluster(request: WebRequest, sources: Sources) -> Response[bytes]:
    """Show who does the work, and on what it stands."""
    shown, uncertain = await _look(sources), None
    if shown.cluster.restore is not None:
        restores = sources.owners.restores
        uncertain = await restores.resume(Resumption("skip"), dry_run=True)
    return page(request, "cluster.html", uncertain=uncertain, **shown._asdict())


@post("/cluster/restore")
async def decide_restore(request: WebRequest, owners: Owners) -> Response[bytes]:
    """Run what may have run before the database was restored, or leave it out."""
    form = Form(await request.form())
    wanted = Resumption(form.choice("missed", ("skip", "last", "all")), form.instant("since"))
    resumed = await owners.restores.resume(wanted)
    told = f"{resumed.to_run} to be run, {resumed.left_out} left out"
    text = f"Decided about {plural(resumed.uncertain, 'due time')}: {told}."
    return done(request, text, "/cluster")


async def _look(dependencies: Dependencies) -> ShownCluster:
    status, cluster = await dependencies.system.status(), await dependencies.cluster.read()
    faults = [found.what for found in status.findings if found.kind is FindingKind.CACHE]
    holders = [
        Holder(name_of(record), record, ranges(record.partitions)) for record in cluster.schedulers
    ]
    return ShownCluster(
        status,
        cluster,
        holders,
        strip(cluster),
        FleetView.of(await dependencies.reads.executors()),
        await dependencies.loads.engine(),
        faults[0] if faults else "",
    )


async def _draw(dependencies: Dependencies, _argument: str) -> str:
    shown = await _look(dependencies)
    return render("parts/cluster.html", await dependencies.reads.now(), **shown._asdict())


LIVE = [LivePart("cluster", _draw)]
ROUTER = Router("/", route_handlers=[show_cluster, decide_restore])
