"""What a fault does to the process that runs a script."""

import os
import signal
import time
from collections.abc import Sequence
from typing import Final

from iac_simulator.host import Exit, Outside
from iac_simulator.scenario import Fault

__all__ = ["suffer"]

_SEGFAULT: Final = 139


def suffer(faults: Sequence[Fault], outside: Outside) -> None:
    """Carry out what `faults` say about the process, in order: wait, fork, write, end.

    Inside another program (`outside.own` is False) nothing is forked and no signal touched; a
    segmentation fault there is the status -11, as a caller of the program would see it.

    Raises:
        Exit: A fault ends the script.
    """
    for fault in faults:
        if fault.ignore_term and outside.own:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if fault.fork and outside.own:
            _fork(fault)
        if fault.delay:
            outside.sleep(fault.delay)
            outside.check()
        if fault.write:
            outside.streams.write(fault.descriptor, fault.write.encode() * fault.repeat)
        if fault.exit is not None:
            if fault.exit == _SEGFAULT:
                _crash(outside)
            raise Exit(fault.exit)


def _fork(fault: Fault) -> None:
    """Leave a child behind that holds all descriptors and sleeps; it is ready at the return."""
    ready, said = os.pipe()
    if os.fork() == 0:
        try:
            if fault.setsid:
                os.setsid()
            os.close(said)
            time.sleep(fault.fork)
        finally:
            os._exit(0)
    os.close(said)
    os.read(ready, 1)
    os.close(ready)


def _crash(outside: Outside) -> None:
    if outside.own:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    raise Exit(-signal.SIGSEGV)
