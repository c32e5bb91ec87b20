"""Where library sources come from: a folder, an installed package, an sdist or a wheel.

Nothing is imported, executed or unpacked to disk: archives are read in memory, member by member,
with a limit on the size of each.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kvdoctor.data import dataclass
from kvdoctor.errors import InputError

PACKAGE = "vllm"
LIMIT = 8_000_000  # bytes of one source file; the largest real one has about a tenth of this

_VERSION = re.compile(r"^[^#\n]{0,60}?\bversion\s*=\s*['\"](\d[\w.+!-]*)['\"]", re.MULTILINE)
_METADATA = re.compile(r"^Version:\s*(\d\S*)\s*$", re.MULTILINE)
_RELEASE = re.compile(
    r"(?:^|[-_])v?(\d+(?:\.\d+)+(?:[a-z.+-][\w.+-]*?)?)(?=$|-py3|-cp3|\.tar|\.dist)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """The Python sources of one release. ``files`` maps "vllm/…py" to the file's bytes."""

    release: str
    origin: str
    files: dict[str, bytes]


def open_source(path: Path) -> Source:
    """Reads the package at ``path``. Raises InputError when there is none or no release is told."""
    if path.is_dir():
        members = _folder(path)
    elif path.suffix in {".whl", ".zip"}:
        members = _wheel(path)
    elif path.name.endswith((".tar.gz", ".tgz", ".tar")):
        members = _sdist(path)
    else:
        raise InputError(
            "not a source of vLLM",
            file=str(path),
            remedy="give a folder, an installed package, an sdist (.tar.gz) or a wheel",
        )
    files: dict[str, bytes] = {}
    metadata = ""
    try:
        for name, data in members:
            if name.endswith(".py"):
                files[name] = data
            else:
                metadata = metadata or data.decode("utf-8", "replace")
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read: {error}", file=str(path)) from error
    if not files:
        raise InputError(f"holds no package {PACKAGE!r}", file=str(path))
    release = _release_of(path, files, metadata)
    if not release:
        raise InputError(
            "does not tell its release", file=str(path), remedy="name the folder vllm-RELEASE"
        )
    return Source(release, str(path), dict(sorted(files.items())))


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """A checkout (…/vllm inside), an installation (site-packages) or the package itself."""
    package = next(
        (p for p in (path / PACKAGE, path / "src" / PACKAGE) if (p / "__init__.py").is_file()), None
    )
    if package is None and path.name == PACKAGE and (path / "__init__.py").is_file():
        package = path
    if package is None:
        return
    for found in sorted(package.parent.glob(f"{PACKAGE}-*.dist-info/METADATA")):
        yield "METADATA", found.read_bytes()
    for found in sorted(package.rglob("*.py")):
        if found.is_file() and found.stat().st_size <= LIMIT:
            yield f"{PACKAGE}/{found.relative_to(package).as_posix()}", found.read_bytes()


def _sdist(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for member in archive:
            inside = PurePosixPath(member.name)
            name = "/".join(inside.parts[1:])  # the first part is "vllm-RELEASE"
            if name.startswith("src/"):
                name = name[4:]
            wanted = name == "PKG-INFO" or (name.startswith(f"{PACKAGE}/") and name[-3:] == ".py")
            if wanted and member.isfile() and member.size <= LIMIT:
                handle = archive.extractfile(member)
                if handle is not None:
                    yield name, handle.read()


def _wheel(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename
            wanted = name.startswith(f"{PACKAGE}/") and name.endswith(".py")
            wanted = wanted or name.endswith(".dist-info/METADATA")
            if wanted and member.file_size <= LIMIT:
                yield name, archive.read(member)


def _release_of(path: Path, files: dict[str, bytes], metadata: str) -> str:
    """The package's own version file first, then its metadata, then the name it was given."""
    for name in (f"{PACKAGE}/_version.py", f"{PACKAGE}/version.py"):
        found = _VERSION.search(files.get(name, b"").decode("utf-8", "replace"))
        if found:
            return found[1]
    found = _METADATA.search(metadata)
    if found:
        return found[1]
    for part in (path.name, path.parent.name):
        found = _RELEASE.search(part)
        if found:
            return found[1]
    return ""


def release_key(release: str) -> tuple[int, ...]:
    """Orders releases by their numbers: "0.9.1" stands before "0.11.2"."""
    return tuple(int(part) for part in re.findall(r"\d+", release.split("+")[0])[:6])
