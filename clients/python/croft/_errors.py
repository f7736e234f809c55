"""What goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CroftError(Exception):
    """A call that failed, for a reason that `code` names.

    docs/errors.md of Croft has a section for every code: what happened, what state is left,
    and what to do. A merge that conflicts is no error, but a merge that is pending.
    """

    #: One of `croft.Code`. A newer daemon may have others.
    code: str
    #: One line.
    message: str
    #: What git printed, a path, a list of files.
    details: str
    #: A command that may help.
    hint: str
    #: What was attempted.
    op: str
    #: The name of the workspace that it is about.
    workspace: str
    #: Parts of the message, for programs.
    fields: Mapping[str, str]
    #: The status of HTTP, or 0 if there was no answer.
    status: int
    #: Whether the same call may succeed later.
    retryable: bool

    def __init__(self, code: str, message: str, *, retryable: bool = False, status: int = 0, **more: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.details = more.get("details") or ""
        self.hint = more.get("hint") or ""
        self.op = more.get("op") or ""
        self.workspace = more.get("workspace") or ""
        self.fields = more.get("fields") or {}
        self.status = status
        self.retryable = retryable

    @classmethod
    def of(cls, problem: Mapping[str, Any], *, retryable: bool = False) -> CroftError:
        """Makes an error of the body of an answer."""
        more = {name: problem.get(name) for name in ("details", "hint", "op", "workspace", "fields")}
        return cls(problem["code"], problem.get("message", ""), retryable=retryable, status=problem.get("status", 0), **more)

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        if self.details:
            text += f"\n{self.details}"
        if self.hint:
            text += f"\nhint: {self.hint}"
        return text


def unreachable(where: str, cause: BaseException | None) -> CroftError:
    """Says that no daemon answers."""
    details = where if cause is None else f"{where}: {cause}"
    return CroftError("DAEMON_UNREACHABLE", "no daemon answers", details=details, hint="croft serve --detach", retryable=True)
