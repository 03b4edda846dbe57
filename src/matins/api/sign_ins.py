"""Links into the web page: /v1/sign-in-links."""

from __future__ import annotations

from litestar import Router, post

from matins.api.dependencies import Principal, SignIns
from matins.domain.views import SignInLink


@post("/sign-in-links", status_code=201)
async def make_sign_in_link(sign_ins: SignIns, principal: Principal) -> SignInLink:
    """Make a link that signs a browser in as the caller, once, within a quarter of an hour."""
    return await sign_ins.make(principal)


ROUTER = Router("/", tags=["system"], route_handlers=[make_sign_in_link])
