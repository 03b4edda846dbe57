"""What others do to jobs while somebody looks at a page: by the API."""

from __future__ import annotations

from typing import Any

from tests.e2e.cluster import Cluster, until

HELLO = {"command": {"argv": ["echo", "hello"]}}


async def call(matins: Cluster, method: str, path: str, body: object = None) -> Any:
    """Call the API; return what it answers."""
    url = f"{matins.urls[0]}/v1/{path}"
    async with matins.http.request(method, url, json=body) as answer:
        told = await answer.json()
        assert answer.status < 300, told
        return told


async def put(matins: Cluster, team: str, name: str, **spec: Any) -> dict[str, Any]:
    """Make or change a job, which says hello unless told otherwise; return it."""
    body = {"name": name, "target": HELLO, **spec}
    told = await call(matins, "PUT", f"teams/{team}/jobs/{name}", body)
    job: dict[str, Any] = told["job"]
    return job


async def run_once(matins: Cluster, team: str, name: str) -> dict[str, Any]:
    """Trigger a job and wait for its end; return the run."""
    run: dict[str, Any] = await call(matins, "POST", f"teams/{team}/jobs/{name}/trigger", {})

    async def is_over() -> bool:
        nonlocal run
        run = await call(matins, "GET", f"runs/{run['id']}")
        return run["state"] in ("succeeded", "dead", "cancelled")

    await until(is_over, 60)
    return run
