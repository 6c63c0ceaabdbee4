# SPDX-License-Identifier: Apache-2.0
"""What may go wrong: one class for each thing that a program does differently.

The codes are those of docs/errors.md and docs/guide/serve.md, and these of this package:

CLIENT_ECOMMAND   the command uvzk was not found, or its daemon did not begin
CLIENT_EENDED     the daemon has ended, or has closed the connection
CLIENT_EFORKED    this process was forked, and the connection is its parent's
CLIENT_ECLOSED    the client was closed
CLIENT_ELINE      the request is longer than the daemon accepts
"""

from __future__ import annotations

from typing import Any, Mapping

NOT_IN_TIME = {"UV_ETIMEDOUT", "UVZK_EUNREACHABLE", "UVZK_ENOTQUEUED"}
NO_DAEMON = {"CLIENT_ECOMMAND", "CLIENT_EENDED", "CLIENT_EFORKED", "CLIENT_ECLOSED",
             "SERVE_ELINE", "SERVE_ECONNECTIONS", "SERVE_EUNREAD", "SERVE_EENDING"}  # fmt: skip


class UvzkError(Exception):
    """`code` is the name of a code, `message` a sentence. `retriable`: a later attempt may succeed
    without a change to the program. `outcome_unknown`: a write may have been carried out."""

    def __init__(self, code: str, message: str, *, retriable: bool = False, outcome_unknown: bool = False) -> None:
        Exception.__init__(self, code, message)  # and not that of OSError
        self.code = code
        self.message = message
        self.retriable = retriable
        self.outcome_unknown = outcome_unknown

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class UvzkTimeout(UvzkError, TimeoutError):
    """Not granted in time. `code` tells why: UV_ETIMEDOUT (others were ahead), UVZK_EUNREACHABLE
    (there was no connection to the servers), UVZK_ENOTQUEUED (the servers were slow). A daemon that is
    stopped does not answer: the time is over a second later."""


class UvzkLost(UvzkError):
    """A hold has ended without a release, or what was opened is over: `code` tells why."""


class UvzkConnectionError(UvzkError, ConnectionError):
    """There is no daemon, or no longer."""


def error_of(answer: Mapping[str, Any]) -> UvzkError:
    """Returns the error of an answer that is not ok."""
    code = answer["error"]
    kind = UvzkTimeout if code in NOT_IN_TIME else UvzkConnectionError if code in NO_DAEMON else UvzkError
    return kind(code, answer["message"], retriable=bool(answer.get("retriable")),
                outcome_unknown=bool(answer.get("unknown")))  # fmt: skip


def lost_because_of(event: Mapping[str, Any]) -> UvzkLost:
    """Returns the reason of an event `lost` or `unwatched`. To begin anew may succeed."""
    return UvzkLost(event["error"], event["message"], retriable=True)
