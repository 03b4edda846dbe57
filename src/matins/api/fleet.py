"""What is behind the jobs: audit, executors, schedulers, partitions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from litestar import Router, get
from litestar.params import FromQuery

from matins.api.dependencies import Audits, ClusterReads, Reads
from matins.api.parameters import check_instant
from matins.domain.runs.cluster import Cluster
from matins.domain.views import AuditPage, ExecutorRecord, PartitionRecord


@get("/audit")
async def audit_jobs(
    audits: Audits,
    team: FromQuery[str | None] = None,
    job: FromQuery[str | None] = None,
    since: FromQuery[datetime | None] = None,
    until: FromQuery[datetime | None] = None,
    after: FromQuery[UUID | None] = None,
) -> AuditPage:
    """Compute due times anew and compare them with the ledger, job by job.

    Of the last day, unless `since` (inclusive) and `until` (exclusive) say otherwise.
    """
    check_instant("since", since)
    check_instant("until", until)
    return await audits.page(team, job, since, until, after)


@get("/executors")
async def list_executors(reads: Reads) -> list[ExecutorRecord]:
    """List the executors that are alive, and those that ended within a day."""
    return await reads.executors()


@get("/partitions")
async def list_partitions(reads: Reads) -> list[PartitionRecord]:
    """List the partitions with who holds them, and up to when all of their fire times have rows."""
    return await reads.partitions()


@get("/cluster")
async def show_cluster(cluster: ClusterReads) -> Cluster:
    """Show the schedulers, what each holds and tells of itself, and what none of them holds."""
    return await cluster.read()


ROUTER = Router(
    "/",
    tags=["fleet"],
    route_handlers=[audit_jobs, list_executors, list_partitions, show_cluster],
)
