"""Lists the packages and modules of Matins, each with the first paragraph of its docstring.

`make modules` prints all of them, `make modules IN=scheduler` those of one package.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "matins"


def packages() -> list[Path]:
    """Return the folders of the packages below `matins`, sorted by their path."""
    return sorted(path.parent for path in SOURCE.glob("*/**/__init__.py"))


def purpose(module: Path) -> str:
    """Return the first paragraph of a module's docstring, on one line; empty if it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def package_table() -> str:
    """Return each package and what it is for, as a Markdown table."""
    rows = ["| package | purpose |", "| --- | --- |"]
    for folder in packages():
        name = folder.relative_to(SOURCE).as_posix()
        rows.append(f"| `{name}/` | {purpose(folder / '__init__.py')} |")
    return "\n".join(rows)


def listing(name: str) -> str:
    """Return a package's purpose, then a line for each of its modules; `name` is relative to
    `matins`.
    """
    folder = SOURCE / name
    lines = [f"{name}/  {purpose(folder / '__init__.py')}"]
    modules = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    width = max((len(path.name) for path in modules), default=0)
    return "\n".join(lines + [f"  {path.name:{width}}  {purpose(path)}" for path in modules])


def main() -> None:
    """Print the packages whose path begins with the given one, or all of them."""
    wanted = sys.argv[1].strip("/") if sys.argv[1:] else ""
    names = [folder.relative_to(SOURCE).as_posix() for folder in packages()]
    chosen = [name for name in names if f"{name}/".startswith(f"{wanted}/") or not wanted]
    if not chosen:
        sys.exit(f"matins has no package {wanted}; it has {', '.join(names)}")
    print("\n\n".join(map(listing, chosen)))


if __name__ == "__main__":
    main()
