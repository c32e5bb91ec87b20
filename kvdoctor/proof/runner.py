"""Calls vLLM's own guard functions; run with the Python that has vLLM, never imported by kvdoctor.

stdin: one JSON object ``{"calls": [{"id": …, "names": [input, …], "rows": [[value, …], …]}, …]}``;
with ``"given": true`` the rows are mappings, from which the caller takes what it has parameters for
(a further kind of answer is then "missing").
stdout: JSON lines. First ``{"vllm": version, "file": path}`` or ``{"no_import": reason}``; then one
line for each call, ``{"call": id, "answers": [[kind, exception, message, line], …]}`` in the order
of the rows; ``line`` is the source text of the raising line. Kinds: "returned", "raised", "gone"
(the function is not in this build), "foreign" (this build has no such value), "broken" (the caller
does not fit this build: that says nothing about the guard).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import linecache
import os
import sys
from pathlib import Path
from typing import IO, Any

LONGEST_MESSAGE = 4000
LONGEST_STATEMENT = 6  # lines
FOLDER = Path(__file__).resolve().parent / "callers"
PACKAGE = "kvdoctor_callers"


def take_stdout() -> IO[str]:
    """Keep the real stdout for answers and send everything else that is printed to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def load_callers() -> dict[str, Any]:
    """All callers by id. Loaded by path: this folder must not shadow modules that vLLM imports."""
    own = str(Path(__file__).resolve().parent)
    sys.path[:] = [entry for entry in sys.path if entry != own]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no callers in {FOLDER}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    for file in sorted(FOLDER.glob("*.py")):
        if not file.stem.startswith("_"):
            importlib.import_module(f"{PACKAGE}.{file.stem}")
    callers: dict[str, Any] = importlib.import_module(f"{PACKAGE}.registry").CALLERS
    return callers


def innermost(error: BaseException) -> BaseException:
    """The exception that the guard raised, taken out of pydantic's collection of errors."""
    details = getattr(error, "errors", None)
    if type(error).__name__ != "ValidationError" or not callable(details):
        return error
    for detail in details():
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, BaseException):
            return inner
    return error


def raising_line(error: BaseException) -> str:
    """Source text of the line that raised: the only mark of an assert without a message."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    file, number = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    lines = [linecache.getline(file, number - back).strip() for back in range(LONGEST_STATEMENT)]
    if isinstance(error, AssertionError):  # since Python 3.11 the line is that of the condition
        return next((line for line in lines if line.startswith("assert")), lines[0])
    return lines[0]


def raised_by_caller(error: BaseException) -> bool:
    """True when the innermost frame is one of ours: our builder failed, not vLLM's guard."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    return Path(trace.tb_frame.f_code.co_filename).resolve().parent in (FOLDER, FOLDER.parent)


def answer(caller: Any, values: dict[str, Any], build: Any) -> list[str]:
    try:
        caller(**values)
    except build.GoneError as error:
        return ["gone", "", str(error), ""]
    except build.ForeignValueError as error:
        return ["foreign", "", str(error), ""]
    except build.MissingFieldError as error:
        return ["broken", "MissingFieldError", str(error), ""]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        inner = innermost(error)
        kind = "broken" if inner is error and raised_by_caller(error) else "raised"
        return [kind, type(inner).__name__, str(inner)[:LONGEST_MESSAGE], raising_line(error)]
    return ["returned", "", "", ""]


def answer_all(
    caller: Any, names: list[str], rows: list[list[Any]], build: Any, known: dict[Any, list[str]]
) -> list[list[str]]:
    """One answer for each row. A function that is gone is looked for once; two guards of the same
    function with the same values are one call (``known``)."""
    answers: list[list[str]] = []
    for row in rows:
        if answers and answers[0][0] == "gone":
            answers.append(answers[0])
            continue
        key = (caller, *names, *((type(value), value) for value in row))
        if key not in known:
            known[key] = answer(caller, dict(zip(names, row, strict=True)), build)
        answers.append(known[key])
    return answers


def answer_given(caller: Any, values: dict[str, Any], build: Any) -> list[str]:
    """Like :func:`answer` for a mapping that may hold more than the caller takes, or less."""
    parameters = inspect.signature(caller).parameters
    needed = [name for name, one in parameters.items() if one.default is one.empty]
    lacking = [name for name in needed if name not in values]
    if lacking:
        return ["missing", "", ", ".join(lacking), ""]
    wanted = {name: value for name, value in values.items() if name in parameters}
    return answer(caller, wanted, build)


def main() -> int:
    answers = take_stdout()
    request = json.load(sys.stdin)

    def say(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    try:
        vllm = importlib.import_module("vllm")
        importlib.import_module("vllm.config")
    except BaseException as error:
        say({"no_import": f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]})
        return 1
    say({"vllm": str(getattr(vllm, "__version__", "")), "file": str(vllm.__file__)})
    callers = load_callers()
    build = importlib.import_module(f"{PACKAGE}.build")
    known: dict[Any, list[str]] = {}
    for call in request["calls"]:
        caller = callers.get(call["id"])
        if caller is None:
            say({"call": call["id"], "unknown": True, "answers": []})
            continue
        if call.get("given"):
            answered = [answer_given(caller, row, build) for row in call["rows"]]
        else:
            answered = answer_all(caller, call["names"], call["rows"], build, known)
        say({"call": call["id"], "answers": answered})
    return 0


if __name__ == "__main__":
    sys.exit(main())
