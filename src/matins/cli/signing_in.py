"""`matins sign-in`."""

from __future__ import annotations

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.client.sdk import Matins
from matins.domain.views import SignInLink

commands = typer.Typer()


@commands.command("sign-in", epilog="Example: matins sign-in")
def sign_in(as_json: AsJson = False) -> None:
    """Print a link that signs a browser in to the web page, once, as whose token this is.

    Who has the link first is signed in: give it to nobody.
    """

    async def work(client: Matins) -> tuple[str, SignInLink]:
        return client.url, await client.make_sign_in_link()

    url, link = with_api(work)
    if as_json:
        print_json(link)
    else:
        tell(url + link.path)
        tell(f"It works once, until {local(link.expires_at)}.")
