"""The page of chains: which jobs follow which, drawn, with how each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from litestar import Response, Router, get
from litestar.params import FromQuery

from matins.api.dependencies import JobSearch
from matins.domain.jobs.spec import Job
from matins.domain.runs.recent import RecentRun
from matins.store.job_search import ChainLink, PostgresJobSearch
from matins.web.charts.graph import Arrow, Dependency, Graph, Node, components, graph
from matins.web.live import LivePart
from matins.web.rendering import NavigationItem, WebRequest, page

LINKS_MAX: Final = 1_000
SHOWN_MAX: Final = 20
"""How many graphs are drawn on a page."""

ITEM = NavigationItem("Chains", "/chains", "h")
LIVE: list[LivePart] = []

_CONDITIONS: Final = {
    "any_success": "any succeeded",
    "all_done": "all have ended",
    "any_failure": "any failed",
}


class DrawnJob(NamedTuple):
    """A job in a graph: where, and how it stands. One that is missing is not there any more."""

    node: Node
    team: str
    job: str
    state: str
    last: RecentRun | None
    condition: str


class DrawnChain(NamedTuple):
    """Jobs that hang together."""

    graph: Graph
    places: Sequence[DrawnJob]
    edges: Sequence[Arrow]


@get("/chains")
async def show_chains(
    request: WebRequest, job_search: JobSearch, q: FromQuery[str] = "", team: FromQuery[str] = ""
) -> Response[bytes]:
    """Show the chains of all teams, or of one; those with a job whose name has the text."""
    links = await job_search.links(team, LINKS_MAX)
    conditions = {f"{link.team}/{link.job}": link.condition for link in links}
    found = components(map(_link, links))
    wanted = [part for part in found if _matches(part, q.strip().lower())]
    chains = await _drawn(job_search, wanted[:SHOWN_MAX], conditions)
    return page(
        request,
        "chains.html",
        chains=chains,
        left_out=len(wanted) - len(chains),
        is_cut=len(links) == LINKS_MAX,
    )


def _link(link: ChainLink) -> Dependency:
    return Dependency(f"{link.team}/{link.upstream}", f"{link.team}/{link.job}")


def _matches(links: Sequence[Dependency], text: str) -> bool:
    return any(text in name.lower() for link in links for name in link)


async def _drawn(
    job_search: PostgresJobSearch,
    wanted: Sequence[Sequence[Dependency]],
    conditions: Mapping[str, str],
) -> list[DrawnChain]:
    graphs = [graph(links) for links in wanted]
    names = {tuple(node.name.split("/", 1)) for drawn in graphs for node in drawn.nodes}
    jobs = await job_search.named([(team, name) for team, name in sorted(names)])
    recent = await job_search.recent(jobs, 1)
    known = {f"{job.team}/{job.spec.name}": job for job in jobs}

    def place(node: Node) -> DrawnJob:
        team, _, name = node.name.partition("/")
        job: Job | None = known.get(node.name)
        runs = recent[str(job.id)].runs if job is not None and str(job.id) in recent else []
        condition = _CONDITIONS.get(conditions.get(node.name, ""), "")
        state = "missing" if job is None else job.state
        return DrawnJob(node, team, name, state, runs[0] if runs else None, condition)

    return [
        DrawnChain(drawn, [place(node) for node in drawn.nodes], drawn.edges) for drawn in graphs
    ]


ROUTER = Router("/", route_handlers=[show_chains])
