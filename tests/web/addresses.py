"""The addresses of all pages, from the routes themselves, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Mapping

from litestar.routes import HTTPRoute

from matins.web.pages import PAGES

ASKS = {"/dead/letters": "?team={team}"}
"""What an address must ask for besides its path, by the path."""

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


def templates() -> list[str]:
    """Return the path of each page, with its parameters in braces."""
    routes = [route for module in PAGES for route in module.ROUTER.routes]
    return [
        route.path for route in routes if isinstance(route, HTTPRoute) and "GET" in route.methods
    ]


def parameters(template: str) -> list[str]:
    """Return the names of a path's parameters."""
    return _PARAMETER.findall(template + ASKS.get(template, ""))


def addresses(examples: Mapping[str, str]) -> dict[str, str]:
    """Return the address of each page by its path, for whose parameters there are examples."""
    return {
        template: _PARAMETER.sub(
            lambda found: examples[found[1]], template + ASKS.get(template, "")
        )
        for template in templates()
        if examples.keys() >= {*parameters(template)}
    }
