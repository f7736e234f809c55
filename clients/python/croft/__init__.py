"""A client of Croft, the worktree layer for fleets of coding agents.

    from croft import Croft

    with Croft().workspace("fix-login", on_success="merge") as ws:
        subprocess.run(["claude", "-p", "fix the login"], cwd=ws.path, check=True)
    print(ws.merge.status)

The methods of `Croft` are the calls of the daemon's API, and what is made of them by hand:
`workspace`, `wait_merge`, `events`, `events_async`. What fails raises a `CroftError`.
"""

from . import _generated
from ._client import Croft
from ._errors import CroftError
from ._generated import *  # noqa: F403
from ._model import Model
from ._workspace import Held

__all__ = ["Croft", "CroftError", "Held", "Model"]
__all__ += _generated.__all__
