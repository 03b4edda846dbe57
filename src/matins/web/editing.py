"""A page on which something of a team is edited as YAML; what is wrong is told beside it."""

from __future__ import annotations

from typing import NamedTuple

from litestar import Response

from matins.domain.values.errors import InvalidInputError
from matins.web.rendering import WebRequest, page
from matins.web.wording import team_path


class Editor(NamedTuple):
    """What is edited: its noun, where that is done, and the tab of the team that it belongs to."""

    noun: str
    path: str
    tab: str
    note: str

    def show(
        self,
        request: WebRequest,
        team: str,
        name: str,
        text: str,
        error: InvalidInputError | None = None,
    ) -> Response[bytes]:
        """Answer with the page. Without a `name` something new is written."""
        return page(
            request,
            "team_editor.html",
            status_code=400 if error else 200,
            team=team,
            tab=self.tab,
            editor=self,
            subject=name,
            action=team_path(team, self.path),
            back=team_path(team, self.tab),
            text=text,
            problems=error.problems if error else [],
        )
