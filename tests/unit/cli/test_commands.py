"""What holds for every command: an example, its exit codes, and a quick start."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import pytest
from tests.unit.cli.commands import all_commands, is_command

from matins.cli.app import run
from matins.cli.index import COMMANDS
from matins.domain.time.zones import data_version

ROLES = {"up", "api", "scheduler", "executor"}


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_every_command_has_help_with_an_example_that_exists(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*name.split(), "--help"]) == 0
    assert "Example:" in capsys.readouterr().out
    words = shlex.split(all_commands()[name].epilog)
    example = words[words.index("matins") + 1 :]
    assert example[: len(name.split())] == name.split()
    assert is_command(example)


@pytest.mark.parametrize("name", sorted(all_commands().keys() - ROLES))
def test_every_command_that_ends_speaks_json(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in all_commands()[name].params)


@pytest.mark.parametrize("module", sorted({module for module, _ in COMMANDS.values()}))
def test_the_index_has_every_command_with_the_line_that_its_help_begins_with(module: str) -> None:
    registered = import_module(f"matins.cli.{module}").commands.registered_commands
    names = [command.name or command.callback.__name__ for command in registered]
    listed = {name: line for name, (where, line) in COMMANDS.items() if where == module}
    assert sorted(names) == sorted(name.split()[-1] for name in listed)
    for name, line in listed.items():
        assert " ".join(all_commands()[name].help.split()).startswith(line.removesuffix("."))


@pytest.mark.parametrize("words", ["", "jobs", "executors"])
def test_a_group_alone_shows_its_help_and_is_wrong_usage(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--help"]) == 0
    helped = capsys.readouterr().out
    assert run(words.split()) == 2
    assert capsys.readouterr() == (helped, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("jobs lst", "no such command 'lst'; did you mean 'list'?; see `matins jobs --help`"),
        ("jobs show", "missing argument 'TEAM/NAME'; see `matins jobs show --help`"),
        ("apply", "missing option '--file' / '-f'; see `matins apply --help`"),
        ("jobs resume a/b --missed some", "invalid value for '--missed': 'some' is not one of"),
        ("runs list --limit x", "invalid value for '--limit': 'x' is no whole number; see"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"matins: {told}")


def test_a_fault_of_our_own_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("matins.cli.serving.read_settings", lambda: 1 / 0)
    assert run(["up"]) == 1
    line = "this is a fault of Matins: ZeroDivisionError: division by zero"
    assert capsys.readouterr().err == f"matins: {line}; MATINS_LOG_LEVEL=debug shows where\n"


def test_a_wrong_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MATINS_PORT", "many")
    assert run(["jobs", "list"]) == 2
    assert "MATINS_PORT='many'" in capsys.readouterr().err


def test_without_an_api_the_command_says_where_it_looked_and_what_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MATINS_DATA", str(tmp_path))
    monkeypatch.delenv("MATINS_URL", raising=False)
    assert run(["jobs", "list", "--json"]) == 3
    shown = capsys.readouterr()
    assert str(tmp_path / "api.json") in shown.err
    assert "`matins up`" in shown.err
    assert shown.out == ""


def test_an_api_that_is_gone_is_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unused_tcp_port: int
) -> None:
    monkeypatch.setenv("MATINS_URL", f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.setenv("MATINS_TOKEN", "t")
    assert run(["runs", "list"]) == 3
    told = capsys.readouterr().err
    assert f"http://127.0.0.1:{unused_tcp_port} can't be reached" in told
    assert "the address is from MATINS_URL" in told


def test_tokens_are_never_arguments() -> None:
    options = {
        name for command in all_commands().values() for p in command.params for name in p.opts
    }
    assert not any("token" in name or "secret" in name for name in options)


def test_the_version_is_told_and_that_of_the_zone_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("matins ")
    assert told.endswith(f", zone data {data_version()}\n")
