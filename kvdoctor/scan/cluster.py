"""The same scan on a Ray cluster that is already there: files of shared folders and object stores.

Ray Data spreads the names over the workers; each opens its files there (``s3://``, ``gs://`` and
what else pyarrow knows, or a path that every worker sees), scans them with its own copy of the
knowledge and sends back the small partial result. What is merged is what a local scan merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import IO, Any, cast

from kvdoctor.errors import InputError
from kvdoctor.scan.inputs import may_be_log
from kvdoctor.scan.result import Partial

EXTRA = 'pip install "kvdoctor[ray]"'


class Scanner:
    """One worker: loads the knowledge once, then scans file after file."""

    def __init__(self, settings: dict[str, Any], folders: tuple[str, ...]) -> None:
        from kvdoctor.load import load

        self._settings = settings
        self._knowledge = load(folders)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        from kvdoctor.scan.engine import scan_file

        name = str(row["name"])
        opener = (lambda: _opened(name)) if is_remote(name) else None
        partial = scan_file(name, self._knowledge, opener=opener, **self._settings)
        return {"partial": partial.packed()}


def is_remote(name: str) -> bool:
    """Whether a name is the address of an object in a store."""
    return "://" in name


def expand_remote(names: Sequence[str]) -> list[str]:
    """Addresses of folders replaced by those of the files in them. Raises InputError."""
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_listed(name) if is_remote(name) else [name]))
    return list(found)


def in_cluster(
    files: Sequence[str],
    settings: dict[str, Any],
    folders: tuple[str, ...] = (),
    *,
    address: str = "auto",
    workers: int = 2,
) -> list[Partial]:
    """The partial results of all files, in any order.

    ``address``: that of the cluster, ``auto`` for the one that this machine belongs to, ``local``
    for one of this process alone. Raises InputError when Ray is missing or no cluster answers."""
    ray = _ray()
    if not ray.is_initialized():
        try:
            ray.init(
                address=None if address == "local" else address, logging_level="ERROR",
                log_to_driver=False, include_dashboard=False,
            )  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"no Ray cluster answers at {address}", remedy="--ray-address names it"
            ) from error
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    rows = ray.data.from_items([{"name": name} for name in files], override_num_blocks=len(files))
    done = rows.map(
        Scanner,
        fn_constructor_args=(settings, folders),
        compute=ray.data.ActorPoolStrategy(size=max(1, min(workers, len(files)))),
    )
    return [Partial.unpacked(row["partial"]) for row in done.iter_rows()]


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise InputError("Ray is not installed", remedy=EXTRA) from error
    return ray


def _store(name: str) -> tuple[Any, str]:
    fs = _file_systems()
    try:
        store, path = fs.FileSystem.from_uri(name)
    except (OSError, ValueError) as error:
        raise InputError(f"no such store: {error}", file=name) from error
    return store, path


def _file_systems() -> Any:
    try:
        return import_module("pyarrow.fs")
    except ImportError as error:
        raise InputError("pyarrow is not installed", remedy=EXTRA) from error


def _listed(name: str) -> list[str]:
    fs = _file_systems()
    store, path = _store(name)
    head = (
        name[: len(name) - len(path)] if name.endswith(path) else name.partition("://")[0] + "://"
    )
    about = store.get_file_info(path)
    if about.type == fs.FileType.File:
        return [name]
    if about.type != fs.FileType.Directory:
        raise InputError("no such object or folder", file=name)
    inside = store.get_file_info(fs.FileSelector(path, recursive=True))
    files = (one.path for one in inside if one.type == fs.FileType.File)
    return sorted(head + path for path in files if may_be_log(path))


def _opened(name: str) -> IO[bytes]:
    store, path = _store(name)
    return cast("IO[bytes]", store.open_input_file(path))
