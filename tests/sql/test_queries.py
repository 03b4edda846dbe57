"""Every named query prepares against the migrated schema and gives what its type is filled with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from importlib.resources import files
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import asyncpg
import msgspec
import pytest

from matins.domain.audit import AuditedJob, LedgerRow
from matins.domain.executors.liveness import ExecutorSeen
from matins.domain.executors.protocol import RunStatus
from matins.domain.runs.admission.waiting import Waiting
from matins.domain.runs.claims import DueJob
from matins.domain.runs.recent import RecentRun
from matins.domain.runs.states import FINAL, Kind, Outcome, RunState
from matins.domain.views import AttemptRecord, ExecutorRecord, PartitionRecord, Run
from matins.store.queries import Query, load_queries

FILES = sorted(path.name for path in files("matins.store").iterdir() if path.name.endswith(".sql"))
QUERIES = [query for file in FILES for query in load_queries(file).values()]

FILLS: dict[str, type[msgspec.Struct]] = {
    "agenda.sql:load": DueJob,
    "agenda.sql:changed_jobs": DueJob,
    "agenda.sql:find_jobs": DueJob,
    "waiting.sql:load_waiting": Waiting,
    "dispatch.sql:seen": ExecutorSeen,
    "dispatch.sql:record": RunStatus,
    "manual.sql:cancel": RunStatus,
    "manual.sql:retry_now": RunStatus,
    "manual.sql:stop_retrying": RunStatus,
    "reads.sql:statuses": RunStatus,
    "reads.sql:runs_recent": Run,
    "reads.sql:runs_of_team": Run,
    "recent.sql:recent_runs": RecentRun,
    "reads.sql:attempts": AttemptRecord,
    "reads.sql:executors": ExecutorRecord,
    "reads.sql:partitions": PartitionRecord,
    "audits.sql:subjects": AuditedJob,
    "audits.sql:subjects_of_team": AuditedJob,
    "audits.sql:subjects_of_name": AuditedJob,
    "audits.sql:rows": LedgerRow,
}
"""The queries whose columns are, name by name, the fields of a Struct."""

DERIVED = {"fault", "timing"}
"""What a Struct says of its row, and no column holds."""

ASIDE: dict[str, dict[str, type]] = {
    "reads.sql:statuses": {"pool": str},
    "reads.sql:runs_recent": {"pool": str},
    "reads.sql:runs_of_team": {"pool": str},
    "dispatch.sql:record": {"awaited": UUID, "is_followed": bool},
    "recent.sql:recent_runs": {"job_id": UUID},
    "manual.sql:cancel": {"job_id": UUID},
    "manual.sql:retry_now": {"job_id": UUID},
    "manual.sql:stop_retrying": {"job_id": UUID},
}
"""What queries tell of a run beside its status: its pool, for the reason why it waits; its job."""

TIMING = {"anchor": datetime, "since": datetime, "overrides": str, "calendars": list}
"""The columns out of which `timing` is made."""

PYTHON = {
    "uuid": UUID,
    "timestamptz": datetime,
    "int2": int,
    "int4": int,
    "int8": int,
    "float8": float,
    "text": str,
    "text[]": list,
    "int4[]": list,
    "bool": bool,
}


@pytest.fixture
async def session(schema_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    session = await asyncpg.connect(schema_dsn)
    yield session
    await session.close()


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
async def test_prepares_and_fills_its_type(session: asyncpg.Connection, query: Query) -> None:
    statement = await session.prepare(query.sql)
    columns = {
        attribute.name: PYTHON.get(attribute.type.name) for attribute in statement.get_attributes()
    }
    assert len(statement.get_parameters()) == len(query.parameters)

    fills = FILLS.get(query.name)
    if fills is not None:
        hints = get_type_hints(fills)
        if "timing" in hints:
            made_of = {name: columns.pop(name) for name in TIMING}
            assert made_of == TIMING
        for name, aside in ASIDE.get(query.name, {}).items():
            assert columns.pop(name) is aside
        assert columns.keys() == hints.keys() - DERIVED
        for name, python in columns.items():
            assert _is_filled_by(hints[name], python), (name, python)


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("runs", "state", set(RunState)),
        ("runs", "kind", set(Kind)),
        ("attempts", "outcome", set(Outcome)),
    ],
)
async def test_check_constraints_name_the_values_of_the_domain(
    session: asyncpg.Connection, table: str, column: str, values: set[str]
) -> None:
    definitions = await session.fetch(
        "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
        " WHERE conrelid = $1::text::regclass AND contype = 'c'",
        table,
    )
    lists = [
        definition["text"] for definition in definitions if f"({column} = ANY" in definition["text"]
    ]
    named = [set(_quoted(text)) for text in lists if "IS NOT NULL" not in text]
    assert values in named


async def test_final_states_are_those_that_need_a_finish_time(session: asyncpg.Connection) -> None:
    definitions = await session.fetch(
        "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
        " WHERE conrelid = 'runs'::regclass AND contype = 'c'"
    )
    [text] = [
        definition["text"]
        for definition in definitions
        if "finished_at IS NOT NULL" in definition["text"]
    ]
    assert set(_quoted(text)) == FINAL


def _quoted(text: str) -> list[str]:
    return text.split("'")[1::2]


def _is_filled_by(hint: Any, python: type | None) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_is_filled_by(arg, python) for arg in get_args(hint))
    if get_origin(hint) is dict:
        return python is str
    if get_origin(hint) in (list, Literal):
        return python is (str if get_origin(hint) is Literal else list)
    if isinstance(hint, type) and issubclass(hint, (msgspec.Struct, str)):
        return python is str
    return hint is python
