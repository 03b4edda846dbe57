"""What can't be undone is asked before: no button that is marked as dangerous acts at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import matins.web

TEMPLATES = Path(matins.web.__file__).parent / "templates"
_DIALOG = re.compile(r"<dialog.*?</dialog>", re.DOTALL)
_DANGEROUS = re.compile(r"<button[^>]*danger[^>]*>")
_DELETES = re.compile(r"action=\"[^\"]*/(?:delete|rotate|cancel|dismiss)[^\"]*\"")


def at_once(template: str) -> list[str]:
    """Return what of a template destroys by a single click."""
    outside = _DIALOG.sub("", template)
    buttons = [found for found in _DANGEROUS.findall(outside) if 'type="button"' not in found]
    return buttons + _DELETES.findall(outside)


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.name)
def test_nothing_is_destroyed_by_a_single_click(path: Path) -> None:
    # the first address of a check-in replaces none
    template = re.sub(
        r"{% else %}<form .*?check-ins/rotate.*?{% endif %}", "", path.read_text("utf-8")
    )
    assert at_once(template) == []


def test_a_form_that_would_is_found() -> None:
    assert at_once('<form action="/x/delete"><button class="small danger">Delete</button></form>')
    assert at_once('<form action="{{ here }}/channels/rotate"><button>New key</button></form>')
    assert not at_once(
        '<dialog><form action="/x/delete"><button class="danger">x</button></dialog>'
    )
