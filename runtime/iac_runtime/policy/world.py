"""What the rules of escalation may look at beside the request."""

from typing import NamedTuple

from iac_runtime.policy.places import Files, Mac
from iac_runtime.policy.taint import Taint

__all__ = ["World"]


class World(NamedTuple):
    """The file system, the texts of recent results, and the folders of this program.

    `own` are folders of this program: nothing may be written there, the state not even read.
    """

    files: Files = Mac()
    taint: Taint | None = None
    own: tuple[str, ...] = ()
