"""What the house asks of every module, where no linter asks it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "matins"
MODULES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def imports_of(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name means, in full."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name if alias.asname else alias.name.split(".")[0]
                found[alias.asname or top] = top
        elif isinstance(node, ast.ImportFrom):
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return found


@cache
def imports() -> dict[str, dict[str, str]]:
    """Return what the imported names of each module mean."""
    return {name: imports_of(tree) for name, tree in trees().items()}


FUNCTION_MAX = 50
MODULE_MAX = 350
STATEMENT_MAX = 50
BANNED = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common"}

CLOCKS = {
    *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter"),
    *("time.perf_counter_ns", "time.clock_gettime", "time.clock_gettime_ns", "time.localtime"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"),
    *("datetime.date.today", "time.gmtime"),
}
MAY_READ_CLOCKS = ("kernel/clock.py", "executor/keeper/clock.py")
MAY_ASK_THE_LOOP = ("cli/", "testing/virtual.py")
"""Where `loop.time()` may stand: the CLI knows no clock, the virtual loop is one."""

RANDOMNESS = {"random.SystemRandom", "os.urandom", "uuid.uuid1", "uuid.uuid4"}
MAY_BE_RANDOM = ("roles/", "engines/", "api/problems.py", "testing/")
"""The role's generator and name; secrets; an error's name; the test bench."""


def test_every_module_begins_with_a_docstring_and_the_future() -> None:
    offenders = []
    for name, tree in trees().items():
        code = tree.body[1] if len(tree.body) > 1 else None
        future = isinstance(code, ast.ImportFrom) and code.module == "__future__"
        is_bare = code is None and name.endswith("__init__.py")
        if not (ast.get_docstring(tree) and (future or is_bare)):
            offenders.append(name)
    assert offenders == []


def test_no_function_is_longer_than_a_screen() -> None:
    offenders = []
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_MAX:
                    offenders.append(f"{name}: {node.name} has {length} lines")
    assert offenders == []


def test_no_module_is_longer_than_one_idea() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    offenders = [f"{name} has {length} lines" for name, length in lengths.items()]
    assert [
        offender
        for offender, length in zip(offenders, lengths.values(), strict=True)
        if length > MODULE_MAX
    ] == []


def test_no_statement_is_longer_than_a_screen() -> None:
    offenders = []
    for file in (SOURCE / "store").rglob("*.sql"):
        if file.parent.name == "migrations":
            continue
        for statement in file.read_text("utf-8").split("-- name: "):
            code = [line for line in statement.splitlines()[1:] if not line.startswith("--")]
            length = len("\n".join(code).strip().splitlines())
            if length > STATEMENT_MAX:
                offenders.append(f"{file.name}: {statement.split()[0]} has {length} lines")
    assert offenders == []


def test_names_of_files_say_what_is_in_them() -> None:
    names = [
        path.relative_to(SOURCE) for path in SOURCE.rglob("*") if "__pycache__" not in path.parts
    ]
    assert [str(name) for name in names if name.stem in BANNED] == []


def test_only_the_two_clocks_read_time() -> None:
    offenders = [
        f"{name}:{line}: {what}"
        for name, line, what in _mentions()
        if what in CLOCKS and not name.startswith(MAY_READ_CLOCKS)
    ]
    assert offenders == []


def test_only_the_cli_asks_the_loop_for_the_time() -> None:
    offenders = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "time"
        and "loop" in ast.unparse(node.func.value)
        and not name.startswith(MAY_ASK_THE_LOOP)
    ]
    assert offenders == []


def test_only_the_composition_root_is_random() -> None:
    offenders = [
        f"{name}:{line}: {what}"
        for name, line, what in _mentions()
        if what in RANDOMNESS or what.startswith("secrets.") or _is_shared_generator(what)
        if not name.startswith(MAY_BE_RANDOM)
    ]
    assert offenders == []


def test_generators_are_made_by_the_composition_root_or_from_a_seed() -> None:
    offenders = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _full_name(node.func, imports()[name]) == "random.Random"
        and not (name.startswith("testing/") and node.args)
    ]
    assert offenders == []


@pytest.mark.parametrize(("driver", "folder"), [("asyncpg", "store/"), ("valkey", "cache/")])
def test_a_driver_is_imported_by_its_own_folder_only(driver: str, folder: str) -> None:
    offenders = [
        name
        for name, imported in imports().items()
        if any(module.split(".")[0] == driver for module in imported.values())
        and not name.startswith(folder)
    ]
    assert offenders == []


def _mentions() -> Iterator[tuple[str, int, str]]:
    """Yield every name that comes from an import: module, line, and what it is in full."""
    for name, tree in trees().items():
        imported = imports()[name]
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name):
                yield name, node.lineno, _full_name(node, imported)


def _full_name(node: ast.expr, imported: dict[str, str]) -> str:
    """`datetime.datetime.now` for `datetime.now` where datetime was imported from its module."""
    match node:
        case ast.Name(id=name):
            return imported.get(name, "")
        case ast.Attribute(value=value, attr=attr) if inner := _full_name(value, imported):
            return f"{inner}.{attr}"
    return ""


def _is_shared_generator(what: str) -> bool:
    """Return whether it is a function of the module `random`, which all share:
    `random.uniform`, …
    """
    module, _, function = what.rpartition(".")
    return module == "random" and function not in ("Random", "SystemRandom")


PRONOUNS = {"it", "one", "mine", "them"}


def bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each name that a module gives to a value, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


@pytest.mark.parametrize("folder", ["src", "tests", "bench"])
def test_a_value_is_named_by_a_noun(folder: str) -> None:
    offenders = [
        f"{path.name}:{line} {name}"
        for path in (SOURCE.parents[1] / folder).rglob("*.py")
        for line, name in bound_names(ast.parse(path.read_text("utf-8")))
        if name in PRONOUNS
    ]
    assert offenders == []


def test_one_name_of_a_class_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for name, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
