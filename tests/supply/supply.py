"""What is shipped, and what comes with it.

    python tests/supply/supply.py wheel       two builds give the same bytes, nothing outside the package
    python tests/supply/supply.py licences    every runtime dependency's licence goes with ours
    python tests/supply/supply.py sbom        a CycloneDX document on standard output

Reads what is installed beside kvdoctor in this interpreter; asks no network.
"""  # noqa: E501

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPATIBLE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Mozilla|MPL|Unlicense|0BSD|CC0|Zlib",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def runtime(name: str = "kvdoctor", found: dict[str, Distribution] | None = None) -> (
    dict[str, Distribution]
):  # fmt: skip
    """The distribution and everything that it needs without extras, by name."""
    found = {} if found is None else found
    try:
        one = distribution(name)
    except PackageNotFoundError:
        return found  # for another system or Python
    key = one.metadata["Name"].lower().replace("_", "-")
    if key in found:
        return found
    found[key] = one
    for line in one.requires or ():
        need = _NAME.match(line)
        if need and "extra ==" not in line:
            runtime(need[0], found)
    return found


def licence(one: Distribution) -> str:
    told = one.metadata.get("License-Expression") or ""
    classes = [
        line.rpartition("::")[2].strip()
        for line in one.metadata.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    plain = (one.metadata.get("License") or "").split("\n")[0][:80]
    return told or ", ".join(classes) or plain or "not stated"


def licences() -> int:
    wrong = 0
    for name, one in sorted(runtime().items()):
        told = licence(one)
        fits = COMPATIBLE.search(told) is not None
        wrong += not fits
        print(f"{'ok   ' if fits else 'WRONG'} {name} {one.version}: {told}")
    return int(wrong > 0)


def sbom() -> int:
    parts = runtime()
    components = [
        {
            "type": "library",
            "name": one.metadata["Name"],
            "version": one.version,
            "purl": f"pkg:pypi/{name}@{one.version}",
            "licenses": [{"license": {"name": licence(one)}}],
        }
        for name, one in sorted(parts.items())
        if name != "kvdoctor"
    ]
    own = parts["kvdoctor"]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "kvdoctor",
                "version": own.version,
                "purl": f"pkg:pypi/kvdoctor@{own.version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }
    print(json.dumps(document, indent=1))
    return 0


def wheel() -> int:
    """0 when two builds are equal and hold nothing but the package and its metadata."""
    digests = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, "-m", "build", "-q", "--wheel", "--outdir", folder, str(ROOT)],
                check=True,
            )
            (file,) = Path(folder).glob("*.whl")
            digests.append(hashlib.sha256(file.read_bytes()).hexdigest())
            size = file.stat().st_size
            with zipfile.ZipFile(file) as archive:
                names = archive.namelist()
    outside = [name for name in names if not re.match(r"kvdoctor(/|-[^/]*\.dist-info/)", name)]
    print(f"{size:,} bytes, {len(names)} files, sha256 {digests[0]}")
    if digests[0] != digests[1]:
        print(f"NOT REPRODUCIBLE: the second build has sha256 {digests[1]}")
    for name in outside:
        print(f"OUTSIDE the package: {name}")
    return int(digests[0] != digests[1] or bool(outside))


if __name__ == "__main__":
    raise SystemExit({"wheel": wheel, "licences": licences, "sbom": sbom}[sys.argv[1]]())
