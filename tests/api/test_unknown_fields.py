"""What a request says and nobody reads is refused: by every route that the description has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin
from uuid import UUID

import msgspec
import pytest
from litestar import Router
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from tests.api.served import SPEC, Owner, Served

from matins.api.app import RESOURCES
from matins.store.database import Database

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLACES = {
    "team": "payments",
    "name": "nightly",
    "run_id": str(UUID(int=7)),
    "due_at": "2026-12-01T00:00:00Z",
    "revision": "1",
    "key": "vendor-x",
    "backfill_id": str(UUID(int=7)),
    "delivery_id": str(UUID(int=7)),
    "replay_id": str(UUID(int=7)),
}
"""What stands in the paths."""


async def operations(owner: Owner) -> list[tuple[str, str, dict[str, Any]]]:
    """Return method, path and description of all that the API offers to owners."""
    paths = (await owner.get("/openapi.json")).json["paths"]
    return [
        (method.upper(), path.format(**PLACES), described)
        for path, methods in paths.items()
        if path.startswith("/v1/")
        for method, described in methods.items()
    ]


async def test_an_unknown_field_is_refused_in_each_body(owner: Owner, database: Database) -> None:
    await owner.job()
    async with database.session() as session:
        before = await session.fetch("SELECT * FROM jobs")
    tried = 0
    for method, path, _ in await operations(owner):
        if method != "GET":
            refused = await owner.call(method, path, json={"unknwon": 1})
            assert refused.status == 422, (method, path, refused.text)
            assert "is not known here" in refused.places["unknwon"], (method, path)
            tried += 1
    assert tried >= 14
    async with database.session() as session:
        assert await session.fetch("SELECT * FROM jobs") == before
        assert await session.fetchval("SELECT count(*) FROM runs") == 0


async def test_an_unknown_parameter_is_refused_by_each_operation(owner: Owner) -> None:
    await owner.job()
    for method, path, described in await operations(owner):
        body = SPEC if "requestBody" in described else None
        refused = await owner.call(method, f"{path}?unknwon=1", json=body)
        assert refused.status == 422, (method, path, refused.text)
        assert list(refused.places) == ["unknwon"], (method, path)
    assert (await owner.get("/v1/runs")).json["runs"] == []


async def test_an_unknown_field_is_refused_however_deep_it_lies(served: Served) -> None:
    del served
    bodies = [
        handler.parsed_fn_signature.parameters["data"].annotation
        for handler in _handlers()
        if "data" in handler.parsed_fn_signature.parameters
    ]
    structs = {struct for body in bodies for struct in _structs(body, set())}
    assert len(structs) > len(bodies)
    assert [
        struct.__name__ for struct in structs if not struct.__struct_config__.forbid_unknown_fields
    ] == []


def _handlers() -> Iterator[HTTPRouteHandler]:
    for part in RESOURCES:
        router: Router = part.ROUTER
        for route in router.routes:
            assert isinstance(route, HTTPRoute)
            for handler in route.route_handlers:
                if isinstance(handler, HTTPRouteHandler):
                    yield handler


def _structs(kind: Any, seen: set[type]) -> Iterator[type[msgspec.Struct]]:
    """Yield the Structs that a type consists of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
        seen.add(kind)
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from _structs(field.type, seen)
    elif get_origin(kind) is not None:
        for inner in get_args(kind):
            yield from _structs(inner, seen)
