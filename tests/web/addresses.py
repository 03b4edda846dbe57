"""The addresses of all pages, from the routes themselves: none is forgotten by tests and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from litestar.routes import HTTPRoute

from matins.web.pages import PAGES

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


def templates() -> Iterator[str]:
    """Yield the path of each page, with its parameters in braces."""
    for module in PAGES:
        for route in module.ROUTER.routes:
            if isinstance(route, HTTPRoute) and "GET" in route.methods:
                yield route.path


def parameters(template: str) -> list[str]:
    """Return the names of a path's parameters."""
    return _PARAMETER.findall(template)


def addresses(examples: Mapping[str, str]) -> dict[str, str]:
    """Return the address of each page by its path, for whose parameters there are examples."""
    return {
        template: _PARAMETER.sub(lambda found: examples[found[1]], template)
        for template in templates()
        if examples.keys() >= {*parameters(template)}
    }
