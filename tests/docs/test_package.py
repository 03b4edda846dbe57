"""What others see of the package: its public names, its types, what it says it runs on."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
import typing
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec
import pytest
import yaml
from tests.docs.generated import ROOT

import matins
from matins import CommandTarget, JobSpec, Matins, MatinsError, Schedule, Target, public
from matins.client import refusals

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PUBLIC = {getattr(public, name) for name in public.__all__}


def test_a_job_is_written_with_public_names_alone() -> None:
    spec = JobSpec("nightly", Target(command=CommandTarget(["true"])), Schedule(cron="0 2 * * *"))
    assert spec.problems() == []


def test_the_package_lists_its_public_names_and_no_others() -> None:
    assert set(dir(matins)) == {"__version__", *public.__all__}
    assert sorted(public.__all__) == sorted(set(public.__all__))
    assert all(getattr(matins, name) is getattr(public, name) for name in public.__all__)


def test_a_name_that_is_not_public_is_not_found() -> None:
    with pytest.raises(AttributeError, match="module 'matins' has no attribute 'no_such_name'"):
        matins.no_such_name  # noqa: B018


def test_whatever_the_sdk_takes_or_returns_is_public() -> None:
    found: set[type] = set()
    for name, method in inspect.getmembers(Matins, inspect.isfunction):
        if not name.startswith("_"):
            hints = typing.get_type_hints(method, vars(sys.modules[method.__module__]))
            for hint in hints.values():
                _collect(hint, found)
    assert sorted(kind.__qualname__ for kind in found - PUBLIC) == []


def test_whatever_the_sdk_raises_is_public() -> None:
    raised = {
        kind
        for kind in vars(refusals).values()
        if inspect.isclass(kind) and issubclass(kind, MatinsError)
    }
    assert sorted(kind.__qualname__ for kind in raised - PUBLIC) == []


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    told = "import sys, matins; print([it for it in sys.modules if it.startswith('matins.')])"
    argv = [sys.executable, "-c", told]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout == "[]\n"


def test_the_version_is_that_of_the_distribution() -> None:
    assert matins.__version__ == version("matins") == PROJECT["version"]


def test_the_package_says_that_it_is_typed() -> None:
    assert (files("matins") / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_ci_runs_on_each_version_that_is_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    told = [re.fullmatch(r".* :: (3\.\d+)", classifier) for classifier in PROJECT["classifiers"]]
    assert matrix["python"] == [found[1] for found in told if found]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    oldest, newest = (
        f"{matrix[name][0]} to {matrix[name][-1]}" for name in ("python", "postgresql")
    )
    assert f"Python {oldest} and on PostgreSQL {newest}" in contributing


def _collect(hint: Any, found: set[type]) -> None:
    """Add the classes of Matins that a type names, and those of their fields."""
    for kind in _classes(hint):
        if kind.__module__.startswith("matins.") and kind not in found:
            found.add(kind)
            if issubclass(kind, msgspec.Struct):
                for inner in typing.get_type_hints(kind).values():
                    _collect(inner, found)


def _classes(hint: Any) -> Iterator[type]:
    if inspect.isclass(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from _classes(part)
