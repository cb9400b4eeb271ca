"""Send a signal to the process that holds a lock, and to no other."""

import os
import signal
from pathlib import Path

from clarinet_tui.runs.lock import is_held_by
from clarinet_tui.runs.process import LockOwner
from core.errors import InputError


def request_stop(lock: Path, owner: LockOwner) -> bool:
    """Send SIGTERM unless one was received already; return whether it was sent.

    A second SIGTERM would end a worker while it saves its checkpoint. A worker removes its handler when the first one
    arrives, and has none before it has started up: without a handler nothing is sent, and the caller may try again.
    """
    return signal_holder(lock, owner, signal.SIGTERM, only_if_handled=True)


def signal_holder(lock: Path, owner: LockOwner, number: signal.Signals, *, only_if_handled: bool = False) -> bool:
    """Send a signal to this very process, if it holds this very lock; return whether it was sent.

    It is not sent to another process with its pid, and not through the lock file of a copied directory.
    """
    if not is_held_by(lock, owner):
        return False
    try:
        file = os.pidfd_open(owner.pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return False
    try:
        # The pid may have been reused before pidfd_open, but not after it: so the identity is checked again.
        if not is_held_by(lock, owner) or (only_if_handled and not handles_signal(owner.pid, number)):
            return False
        if file is None:
            os.kill(owner.pid, number)
        else:
            signal.pidfd_send_signal(file, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        process = f"process {owner.pid} on {owner.host}"
        raise InputError(f"{process} belongs to another user: only they can stop it") from None
    finally:
        if file is not None:
            os.close(file)
    return True


def handles_signal(pid: int, number: signal.Signals) -> bool:
    """Return whether the process has a handler for the signal; True where that cannot be seen."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return True
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), None)
    return caught is None or bool(int(caught.split()[1], 16) >> (number - 1) & 1)
