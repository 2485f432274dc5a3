"""A program in a maintained sandbox: a process of its own, which stops at each call of a tool.

Nothing of this machine is in there: no files, no environment, no modules but the language's own.
What goes wrong in it ends it, and nothing else.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from iac_base.distribution import pip_install
from iac_base.errors import ErrorType, SetupError, ToolError
from iac_base.text import clean_value
from iac_plans.check import PRELUDE, ProgramUsage, type_check_error

SECONDS: Final = 5.0
"""For reckoning, in all; what calls take is not counted."""

MEMORY: Final = 64 * 1024 * 1024
DEPTH: Final = 200
CALLS: Final = 500
_INSIDE: Final = 12
"""Levels of a result; and `_EXACT` is the largest whole number in it."""
_EXACT: Final = 2**53

Answer = Callable[[str, str, tuple[Any, ...], Mapping[str, Any]], Any]
"""Takes app, function, arguments in order and by name; a ToolError it raises can be caught in the
program, and any other exception ends it."""


class FrozenWorld(NamedTuple):
    """What a program is told of the world beside its calls: the same in each of its runs."""

    now: datetime
    seed: str


def load_sandbox() -> Any:
    """Return the package of the sandbox.

    Raises:
        SetupError: It is not installed; the text says how to get it.
    """
    try:
        import pydantic_monty
    except ImportError:
        raise SetupError(f"Plans need a sandbox; install it with: {pip_install('plans')}") from None
    return pydantic_monty


def check_program(program: str, used: ProgramUsage, frozen: FrozenWorld) -> None:
    """Check a program against the signatures of its tools; it stops at its first call.

    Raises:
        InvalidParameterError: It has faults, one line each.
    """

    class _Enough(Exception):  # noqa: N818 (no error)
        pass

    def stop_at_call(*_given: Any) -> Any:
        raise _Enough

    try:
        run_program(program, used, stop_at_call, frozen)
    except _Enough:
        pass
    except ToolError as error:
        if error.type == "INVALID_PARAMETER":
            raise


def run_program(
    program: str,
    used: ProgramUsage,
    answer: Answer,
    frozen: FrozenWorld,
    *,
    checked: bool = False,
    seconds: float = SECONDS,
) -> Any:
    """Run a program, and return its result as plain values; its calls go to `answer`.

    Raises:
        InvalidParameterError: It does not fit the signatures; unless it is `checked` already.
        ToolError: It failed, or reached a limit; of a call that failed in it, that error.
    """
    sandbox = load_sandbox()
    modules = {
        key: sandbox.ExternalModule(dict.fromkeys(names, _reject_call), stubs=used.stubs[key])
        for key, names in used.functions.items()
    }
    failed: list[ToolError] = []
    with (
        sandbox.Monty(max_processes=1, request_timeout=2 * seconds) as pool,
        pool.checkout(
            script_name="plan",
            limits={
                "max_feed_duration_secs": seconds,
                "max_memory": MEMORY,
                "max_recursion_depth": DEPTH,
                "max_suspensions": 2 * CALLS,
                "max_total_sleep_secs": 0.0,
            },
            type_check=not checked,
            type_check_format="concise",
            os_policy={
                "datetime": frozen.now,
                "sleep": "zero",
                "random_start": {"seed": frozen.seed},
            },
            external_modules=modules,
        ) as session,
    ):
        quiet = sandbox.CollectString(max_bytes=100_000)
        try:
            session.feed_run("\n".join((PRELUDE, *(f"import {key}" for key in modules))))
            at = session.feed_start(program, print_callback=quiet)
            while not isinstance(at, sandbox.MontyComplete):
                if isinstance(at, sandbox.FunctionSnapshot):
                    at = at.resume(_resume_value(at, used, answer, failed))
                elif isinstance(at, sandbox.NameLookupSnapshot):
                    # There is no such name.
                    at = at.resume()
                else:
                    raise ToolError("EXECUTION_ERROR", "A plan cannot use await.")
            return result_to_json(at.output)
        except sandbox.MontyTypingError as error:
            raise type_check_error(error.display(), program, used) from None
        except sandbox.MontyError as error:
            raise _program_failure(sandbox, error, failed) from None


def _reject_call(*_args: Any, **_kwargs: Any) -> None:
    raise AssertionError("Calls run one by one.")


def _resume_value(
    at: Any, used: ProgramUsage, answer: Answer, failed: list[ToolError]
) -> dict[str, Any]:
    """Return what the sandbox goes on with."""
    key, _, function = str(at.function_name).partition(".")
    if at.is_os_function or function not in used.functions.get(key, ()):
        return {"exception": PermissionError("a plan has no files, network or system access")}
    try:
        return {"return_value": answer(key, function, at.args, at.kwargs)}
    except ToolError as error:
        failed.append(error)
        return {"exception": RuntimeError(str(error))}


def _program_failure(sandbox: Any, error: Any, failed: list[ToolError]) -> ToolError:
    """Return why a program ended: the error of a call, where that was not caught in it."""
    if isinstance(error, sandbox.MontyCrashedError):
        return ToolError(
            "EXECUTION_ERROR", "The sandbox of the plan crashed, so the plan was stopped."
        )
    frames = error.traceback() if hasattr(error, "traceback") else []
    line = f" in line {frames[-1].line}" if frames else ""
    said = clean_value(error.display("type-msg") if frames else str(error))[:500]
    if failed and str(failed[-1]) in clean_value(str(error)):
        failed[-1].message = f"The plan stopped{line}: {failed[-1].message}"
        return failed[-1]
    kind: ErrorType = "TIMEOUT" if said.startswith("TimeoutError") else "EXECUTION_ERROR"
    way = "Dates in rows are datetime objects: use them as they are." if _ISO in said else ""
    return ToolError(kind, f"The plan stopped{line}: {said}{'.' if way else ''}", way)


_ISO: Final = "argument must be str"
"""What `fromisoformat` says to who gives it a date that is read already."""


def result_to_json(value: Any, depth: int = 0) -> Any:
    """Return a result of a program as JSON has it.

    Raises:
        ToolError: It holds what is no plain value.
    """
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int) and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, float) and abs(value) <= 1e300:
        return float(value)
    if isinstance(value, date):
        return value.isoformat()
    if depth < _INSIDE and isinstance(value, dict):
        return {str(result_to_json(k)): result_to_json(v, depth + 1) for k, v in value.items()}
    if depth < _INSIDE and isinstance(value, list | tuple | set | frozenset):
        return [result_to_json(part, depth + 1) for part in value]
    raise ToolError(
        "EXECUTION_ERROR",
        "A plan can return text, numbers, dates, lists and dictionaries.",
        "End the program with a value of one of these kinds.",
    )
