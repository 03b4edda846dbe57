"""The error tree. A message says what was wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One fault in some input: `where` is a path such as `jobs[0].schedule.cron`."""

    where: str
    message: str


def below(where: str, problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a part with their places in the whole."""
    return [
        Problem(f"{where}.{problem.where}".rstrip("."), problem.message) for problem in problems
    ]


class MatinsError(Exception):
    """The base of every error that Matins raises on purpose."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong inside Matins"


class InvalidInputError(MatinsError):
    """The input was refused whole, and nothing was changed."""

    code = "invalid-input"
    status = 422
    title = "The input is not valid"

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.where}: {p.message}" for p in problems))
        self.problems = problems

    @classmethod
    def at(cls, where: str, message: str) -> InvalidInputError:
        """One problem at one place."""
        return cls([Problem(where, message)])


def check(problems: list[Problem]) -> None:
    """Raise InvalidInputError with all the problems, if there are any."""
    if problems:
        raise InvalidInputError(problems)


class ScheduleError(MatinsError, ValueError):
    """A schedule expression that can't be read, or that can never be due."""

    code = "invalid-schedule"
    status = 422
    title = "The schedule is not valid"


class NotFoundError(MatinsError):
    """There is no such thing, or none that the caller may see."""

    code = "not-found"
    status = 404
    title = "Not found"


class ConflictError(MatinsError):
    """The request contradicts what is stored, for instance a name already taken."""

    code = "conflict"
    status = 409
    title = "In conflict with what is stored"


class UnauthorizedError(MatinsError):
    """The bearer token is missing or wrong."""

    code = "unauthorized"
    status = 401
    title = "A valid bearer token is needed"


class ForbiddenError(MatinsError):
    """The caller is known, and this is not theirs to do, or not from there."""

    code = "forbidden"
    status = 403
    title = "Not allowed"


class TooManyRequestsError(MatinsError):
    """The same is asked for too often; nothing was changed."""

    code = "too-many-requests"
    status = 429
    title = "Too many requests"


class UnavailableError(MatinsError):
    """An engine or a peer can't be reached now, or its answer was lost: the outcome is unknown.

    Whoever catches it reads back or repeats the step under the same name.
    """

    code = "unavailable"
    status = 503
    title = "Temporarily unavailable; try again"


class BlockedError(UnavailableError):
    """Nothing was done, because somebody else holds a lock on some of it for too long, or because
    what some of it needs is not there.
    """


class EngineError(MatinsError):
    """An embedded engine can't be started or stopped."""

    code = "engine"
    title = "An embedded engine failed"


class SettingsError(MatinsError):
    """A setting is missing or can't be read."""

    code = "settings"
    title = "A setting is not valid"


class ProblemDetails(msgspec.Struct, frozen=True):
    """An error on the wire (RFC 9457). `errors` names each place that is wrong, and what is right.

    `instance` names an unexpected failure, whose reason stands in the server's log under this name.
    """

    type: str
    title: str
    status: int
    detail: str = ""
    errors: list[Problem] = []
    instance: str | msgspec.UnsetType = msgspec.UNSET


def problem_details(error: MatinsError) -> ProblemDetails:
    """Return what is told of an error that was raised on purpose."""
    errors = error.problems if isinstance(error, InvalidInputError) else []
    kind = f"urn:matins:problem:{error.code}"
    return ProblemDetails(kind, error.title, error.status, str(error), errors)
