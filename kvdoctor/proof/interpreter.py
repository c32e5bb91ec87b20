"""Where the user's vLLM lives: the interpreter that can import it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from kvdoctor.data import dataclass

_SHELL_TRICK = re.compile(r"""^'''exec' (?:"([^"]+)"|(\S+)) """)  # pip, for long paths


@dataclass(frozen=True, slots=True)
class Found:
    """An interpreter and how it was found; ``path`` is "" when there is none."""

    path: str
    how: str


def find_python(given: str = "", environment: Mapping[str, str] | None = None) -> Found:
    """The interpreter to ask, from (first that is there): the given path (a Python, a virtual
    environment or a ``vllm`` script), the ``vllm`` command on PATH, the active environment."""
    env = os.environ if environment is None else environment
    if given:
        return _from_path(given)
    command = shutil.which("vllm", path=env.get("PATH"))
    if command:
        python = python_of_script(Path(command))
        if python:
            return Found(python, f"the vllm command {command}")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        root = env.get(variable)
        python = _in_environment(Path(root).absolute()) if root else ""
        if python:
            return Found(python, f"{variable}={root}")
    return Found("", "no vllm command on PATH and no active virtual environment")


def _from_path(given: str) -> Found:
    """The runner starts in another folder: the path is made absolute. Its links stay as they are,
    for the interpreter of a virtual environment is one."""
    try:
        path = Path(given).expanduser()
    except RuntimeError:  # "~" of a user without a home
        path = Path(given)
    path = path.absolute()
    if path.is_dir():
        return Found(_in_environment(path), f"the environment {given}")
    if path.is_file() and path.name == "vllm":
        return Found(python_of_script(path), f"the vllm command {given}")
    found = str(path) if path.is_file() else shutil.which(given)
    return Found(str(Path(found).absolute()) if found else "", f"the given interpreter {given}")


def _in_environment(root: Path) -> str:
    for name in ("python", "python3"):
        path = root / "bin" / name
        if path.exists():
            return str(path)
    return ""


def python_of_script(script: Path) -> str:
    """Interpreter in the first lines of an installed console script, "" when there is none."""
    try:
        with script.open("rb") as file:
            lines = file.read(1024).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    if not lines or not lines[0].startswith("#!"):
        return ""
    shebang = lines[0][2:].strip()
    trick = _SHELL_TRICK.match(lines[1]) if len(lines) > 1 else None
    if trick:
        return _existing(trick[1] or trick[2])
    words = shebang.split()
    if words and Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return shutil.which(names[0]) or "" if names else ""
    return _existing(shebang) or _existing(words[0] if words else "")


def _existing(path: str) -> str:
    return path if path and Path(path).is_file() and "python" in Path(path).name else ""
