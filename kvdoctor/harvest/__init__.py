"""vLLM sources → the catalogue of every raise, assert and error log of every release.

``run`` is the whole of ``kvdoctor harvest SOURCE… --out DIR``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from kvdoctor.errors import InputError


def run(
    sources: Sequence[str], out: str, say: Callable[[str], None] = lambda text: None
) -> dict[str, object]:
    """Reads ``sources`` (folders, installed packages, sdists, wheels; in any order), writes the
    catalogue into the folder ``out`` and tells what was found.

    Raises InputError when a source cannot be read, or when two sources are one release."""
    from kvdoctor.harvest.catalogue import Collector, write
    from kvdoctor.harvest.sources import open_source, release_key

    if not sources:
        raise InputError("no source given", remedy="name at least one folder, sdist or wheel")
    named = sorted(
        ((open_source(Path(source)).release, source) for source in sources),
        key=lambda pair: release_key(pair[0]),
    )
    for (one, first), (two, second) in pairwise(named):
        if one == two:
            raise InputError(f"{first} and {second} are both vLLM {one}")
    collector = Collector()
    for release, source in named:
        say(f"reading vLLM {release} from {source}")
        collector.add(open_source(Path(source)))
    sizes = write(collector, Path(out))
    return {"releases": list(collector.releases), "files": sizes, "folder": out}
