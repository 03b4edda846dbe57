"""What operators type to see whether all is well, and who the schedulers are."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.api.served import Served
from tests.e2e.cli.typed import Typist

from matins.client.sdk import Matins
from matins.domain.jobs.spec import JobSpec
from matins.domain.jobs.targets import CommandTarget, Target
from matins.domain.runs.cluster import Figures
from matins.store.database import Database
from matins.store.leases import PostgresLeases

HOLDER = UUID(int=7)
FIGURES = Figures("host-a", "0.1.0", 12, 0.25, 0.5)


async def hold(database: Database, count: int) -> None:
    """Let a scheduler hold so many partitions, and an executor serve a pool."""
    leases = PostgresLeases(database)
    await leases.renew(HOLDER, {}, None, 60)
    epochs = await leases.acquire(HOLDER, count, 60)
    await leases.renew(HOLDER, epochs, await database.clock(), 60, FIGURES)


async def serve_pool(database: Database, pool: str) -> None:
    async with database.session() as session:
        await session.execute(
            "INSERT INTO executors"
            " (id, name, pools, slots, partition, first_heartbeat_at, heartbeat_at, first_seq)"
            " VALUES (gen_random_uuid(), 'here', array[$1], 1, 0, now(), now() + '1 h', 1)",
            pool,
        )


async def test_where_all_is_well_the_status_says_so(typed: Typist, database: Database) -> None:
    await hold(database, 256)
    told = await typed("status")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0].startswith("well, as seen at ")
    figures = dict(line.split("  ", 1) for line in lines[2:] if "  " in line)
    assert figures["schedulers alive"].strip() == "1"
    assert figures["partitions held"].strip() == "256 of 256"


async def test_where_something_is_wrong_the_status_says_since_when_and_what_to_do(
    typed: Typist, matins: Matins, database: Database
) -> None:
    await serve_pool(database, "cpu")
    spec = JobSpec("train", Target(command=CommandTarget(["true"])), pool="gpu", overlap="allow")
    await matins.put_job("science", spec)
    await matins.trigger_job("science", "train")
    told = await typed("status")
    assert told.code == 1
    # the API's log is on the same output here
    lines = [line.split() for line in told.out.splitlines() if "status.wrong" not in line]
    assert lines[0][0] == "wrong,"
    begins = [line[0] for line in lines if line][1:7]
    assert begins == ["failing", "since", "to", "failing", "since", "to"]
    assert "the beginning" in told.out
    assert "no executor serves pool gpu; runs that wait for one: 1" in told.out
    pools = {line[0]: line[1:3] for line in lines if line and line[0] in ("cpu", "gpu")}
    assert pools == {"cpu": ["1", "0"], "gpu": ["0", "1"]}
    as_json = await typed("status", "--json")
    assert as_json.code == 1
    assert [finding["kind"] for finding in as_json.json["findings"]] == ["schedulers", "unserved"]
    assert (await matins.get_status()).findings[1].subject == "gpu"


async def test_without_an_api_the_status_is_unknown(
    typed: Typist, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    del served
    monkeypatch.setenv("MATINS_URL", "http://127.0.0.1:1")
    assert (await typed("status")).code == 3


async def test_the_cluster_shows_each_scheduler_and_what_none_holds(
    typed: Typist, database: Database
) -> None:
    await hold(database, 200)
    told = await typed("cluster")
    assert told.code == 1
    heads, row, missing = told.out.splitlines()
    assert heads.split()[:4] == ["NAME", "ID", "VERSION", "STATE"]
    assert row.split()[:4] == ["host-a", str(HOLDER), "0.1.0", "alive"]
    assert "  200  " in row
    assert "  12 " in row
    assert "+0.250 s" in row
    assert missing == "56 partitions have no holder: jobs in them don't fire"
    await hold(database, 256)
    whole = await typed("cluster", "--json")
    assert whole.code == 0
    assert whole.json["schedulers"][0]["partitions"] == list(range(256))
