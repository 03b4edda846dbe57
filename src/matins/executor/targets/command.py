"""Runs commands, under the keeper."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from matins.domain.runs.attempts import Attempt, Result
from matins.executor.accounts import Accounts
from matins.executor.keeper.link import Command, Keeper
from matins.executor.masking import secrets_of
from matins.executor.news import Tell, tell_nobody
from matins.executor.targets.metadata import attempt_metadata

INHERITED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
)
"""What a command gets of the executor's environment; all else, its secrets included, stays away."""


class CommandRunner:
    """Runs an attempt's command without a shell; exit code 0 means success.

    Its environment: INHERITED, then what belongs to the account that it is run as, then the job's
    own variables, then what names the attempt (MATINS_RUN_ID, MATINS_ATTEMPT, MATINS_DUE_AT,
    MATINS_JOB, MATINS_TEAM, MATINS_KIND).
    """

    def __init__(
        self,
        keeper: Keeper,
        environ: Mapping[str, str] = os.environ,
        accounts: Accounts | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """`secrets`: the executor's own, which are masked as those in the job's variables are."""
        self._keeper = keeper
        self._accounts = accounts or Accounts()
        self._secrets = secrets
        self._inherited = {name: environ[name] for name in INHERITED if name in environ}

    async def run(
        self, attempt: Attempt, cancel: asyncio.Event, tell: Tell = tell_nobody
    ) -> Result:
        """Run it to its end, which it has when none of its processes is left."""
        target = attempt.target.command
        assert target is not None, "the attempt is for another runner"
        named = {
            f"MATINS_{name.upper().replace('-', '_')}": value
            for name, value in attempt_metadata(attempt).items()
        }
        identity = self._accounts.take()
        command = Command(
            argv=target.argv,
            env=self._inherited | (identity.env if identity else {}) | target.env | named,
            cwd=target.cwd,
            timeout_s=attempt.timeout_s,
            alone=attempt.alone,
            team=attempt.team,
            account=identity.account if identity else None,
            secrets=[*secrets_of(target.env), *self._secrets],
            keep=attempt.keep_output,
        )
        try:
            return await self._keeper.run(command, cancel, tell)
        finally:
            self._accounts.give_back(identity)

    async def close(self) -> None:
        """End the keeper, and with it whatever still runs."""
        await self._keeper.close()
