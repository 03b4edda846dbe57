"""The parts of the documentation that are made from the code.

`make docs` writes them into their pages; a test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
from tests.docs.modules import package_table

from matins.domain.runs.states import FINAL, FIRST, TRANSITIONS
from matins.domain.values.durations import format_duration
from matins.kernel.settings import Settings, variable

ROOT = Path(__file__).parents[2]


def settings_table() -> str:
    """Return every setting: its variable, its default and the docstring of its field."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    meanings = field_docstrings(Settings)
    for field in msgspec.structs.fields(Settings):
        default = _shown(field.name, field.default)
        rows.append(f"| `{variable(field.name)}` | {default} | {meanings[field.name]} |")
    return "\n".join(rows)


def state_picture() -> str:
    """Return the states of a run and the ways between them, as a Mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2"]
    for state, after in TRANSITIONS.items():
        if state in FIRST:
            lines.append(f"    [*] --> {state}")
        lines += [f"    {state} --> {successor}" for successor in sorted(after)]
        if state in FINAL:
            lines.append(f"    {state} --> [*]")
    return "\n".join([*lines, "```"])


def layer_picture() -> str:
    """Return the layers that import-linter holds the packages to, as a Mermaid diagram."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    [layers] = [
        contract["layers"]
        for contract in tools["importlinter"]["contracts"]
        if contract["type"] == "layers" and "containers" not in contract
    ]
    lines = ["```mermaid", "flowchart TD"]
    for number, layer in enumerate(layers):
        names = [name.strip().removeprefix("matins.") for name in layer.split("|")]
        lines.append(f'    {number}["{" · ".join(names)}"]')
    lines.append("    " + " --> ".join(map(str, range(len(layers)))))
    return "\n".join([*lines, "```"])


def field_docstrings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the string that stands under each field of a Struct, on one line."""
    [node] = ast.parse(inspect.getsource(struct)).body
    assert isinstance(node, ast.ClassDef)
    found = {}
    for field, under in zip(node.body, node.body[1:], strict=False):
        match field, under:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


def _shown(name: str, default: object) -> str:
    match default:
        case None:
            return "none"
        case bool():
            return f"`{str(default).lower()}`"
        case float() if name.endswith("_s"):
            return f"`{format_duration(default)}`"
    return f"`{default}`"


PARTS: dict[str, tuple[Path, Callable[[], str]]] = {
    "layers": (ROOT / "docs" / "architecture.md", layer_picture),
    "packages": (ROOT / "docs" / "architecture.md", package_table),
    "settings": (ROOT / "docs" / "settings.md", settings_table),
    "states": (ROOT / "docs" / "how-it-works.md", state_picture),
}


def span(name: str) -> re.Pattern[str]:
    """Finds a generated part in its page: what stands between its two marks."""
    return re.compile(rf"(?<=<!-- generated: {name} -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write all parts into their pages."""
    for name, (page, make) in PARTS.items():
        text = page.read_text("utf-8")
        [found] = span(name).finditer(text)  # the marks stand there once
        page.write_text(text[: found.start()] + make() + text[found.end() :], "utf-8")


if __name__ == "__main__":
    main()
