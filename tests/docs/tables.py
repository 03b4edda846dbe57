"""The example tables of a page, so that tests can run their rows."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def tables(page: str, header: str) -> list[list[list[str]]]:
    """Return the cells of each table of a page with a header, of which there must be one."""
    found: list[list[list[str]]] = []
    inside = False
    for line in (DOCS / page).read_text("utf-8").splitlines():
        if line == header:
            inside = True
            found.append([])
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("| ---"):
            found[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    assert found, f"{page} has no table {header}"
    return found


def rows(page: str, header: str) -> list[list[str]]:
    """Return the rows of all these tables, without the marks of code."""
    return [[cell.strip("`") for cell in row] for table in tables(page, header) for row in table]
