"""What is behind the jobs: audit, previews, executors, partitions."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromQuery, JSONBody

from matins.api.bodies import Strict
from matins.api.parameters import check_offset
from matins.api.parts import Audits, Reads
from matins.domain.answers import (
    AuditPage,
    ExecutorRecord,
    PartitionRecord,
    Preview,
    PreviewRequest,
)
from matins.domain.preview import preview


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
    check_offset("since", since)
    check_offset("until", until)
    return await audits.page(team, job, since, until, after)


@post("/preview", status_code=200, dto=Strict[PreviewRequest], return_dto=None)
async def preview_schedule(reads: Reads, data: JSONBody[PreviewRequest]) -> Preview:
    """Tell when a schedule would be due next. Nothing is stored."""
    after = data.after or await reads.now()
    return preview(data.schedule, data.count, after.replace(tzinfo=after.tzinfo or UTC))


@get("/executors")
async def list_executors(reads: Reads) -> list[ExecutorRecord]:
    """List the executors that are alive, and those that ended within a day."""
    return await reads.executors()


@get("/partitions")
async def list_partitions(reads: Reads) -> list[PartitionRecord]:
    """List the partitions with who holds them, and up to when all of their fire times have rows."""
    return await reads.partitions()


ROUTER = Router(
    "/",
    tags=["fleet"],
    route_handlers=[audit_jobs, preview_schedule, list_executors, list_partitions],
)
