"""What is shipped, and what comes with it.

    python tests/supply/supply.py wheel       two builds give the same bytes, nothing outside the package
    python tests/supply/supply.py licences    every runtime dependency's licence goes with ours
    python tests/supply/supply.py sbom        a CycloneDX document on standard output
    python tests/supply/supply.py lock        .ci/dev.lock holds every requirement, hashed
    python tests/supply/supply.py audit [PYTHON]   known vulnerabilities of what is locked

Reads what is installed beside kvdoctor in this interpreter. Only the audit asks anyone: pip-audit's
service, by the pip-audit that is installed for PYTHON, and the database of the package safety-db
there, which is a file. It says which of them could be asked; 1 is returned for a vulnerability.
"""  # noqa: E501

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPATIBLE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Mozilla|MPL|Unlicense|0BSD|CC0|Zlib",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LOCK = ROOT / ".ci" / "dev.lock"
_PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([^\s;]+)((?:.*\\\n\s+--hash=\S+)*)", re.MULTILINE)
UNLOCKED = ("ray", "kvdoctor")  # an extra of hundreds of megabytes, and what is built here
AUDIT_SECONDS = 300


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


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """What is locked, by name; of a package with several pins the last one, the newest."""
    return {name: version for name, version, _ in _PIN.findall(LOCK.read_text("utf-8"))}


def required() -> set[str]:
    """The names that pyproject.toml asks for, with every extra but :data:`UNLOCKED`."""
    import tomli

    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {normal(match[0]) for line in lines if (match := _NAME.match(line))}
    return names - set(UNLOCKED)


def lock() -> int:
    """0 when everything required is locked, with hashes, and no server is named."""
    text = LOCK.read_text("utf-8")
    wrong = [f"not locked: {name}" for name in sorted(required() - set(pins()))]
    wrong += [f"no hash: {name}" for name, _, hashes in _PIN.findall(text) if not hashes]
    wrong += ["a server is named"] * ("://" in text or "index-url" in text)
    print("\n".join(wrong) or f"{len(pins())} packages locked with hashes")
    return int(bool(wrong))


def audit(python: str = sys.executable) -> int:
    asked = {**pins(), **{name: one.version for name, one in runtime().items()}}
    asked = {normal(name): version for name, version in asked.items() if name not in UNLOCKED}
    found = [*_of_service(python, asked), *_of_file(python, asked)]
    for line in found:
        print(f"VULNERABLE {line}")
    return int(bool(found))


def _of_service(python: str, asked: dict[str, str]) -> list[str]:
    """What pip-audit's service knows; says so when it cannot be asked."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pins.txt"
        file.write_text("".join(f"{name}=={version}\n" for name, version in asked.items()))
        words = ["-m", "pip_audit", "--no-deps", "--disable-pip", "--timeout", "10", "-f", "json"]
        try:
            done = subprocess.run(
                [python, *words, "--progress-spinner", "off", "-r", str(file)],
                capture_output=True, timeout=AUDIT_SECONDS, check=False,
            )  # fmt: skip
            rows = json.loads(done.stdout)["dependencies"]
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            rows = []
    told = [row for row in rows if "vulns" in row]
    print(f"pip-audit: {len(told)} of {len(asked)} packages could be asked for")
    return [f"{row['name']} {row['version']}: {one['id']}" for row in told for one in row["vulns"]]


def _of_file(python: str, asked: dict[str, str]) -> list[str]:
    """What the database of the package safety-db knows; it tells how old it is."""
    from packaging.specifiers import SpecifierSet

    place = "from importlib.metadata import files; print([f.locate() for f in files('safety-db')"
    place += " if f.name == 'insecure_full.json'][0])"
    done = subprocess.run([python, "-c", place], capture_output=True, text=True, check=False)
    if done.returncode:
        print("safety-db: not installed")
        return []
    known = json.loads(Path(done.stdout.strip()).read_text("utf-8"))
    age = time.strftime("%Y-%m-%d", time.gmtime(known["$meta"]["timestamp"]))
    listed = {normal(name): rows for name, rows in known.items() if name != "$meta"}
    both = sorted(set(listed) & set(asked))
    print(f"safety-db of {age}: knows {len(both)} of {len(asked)} packages; newer ones it cannot")
    return [
        f"{name} {asked[name]}: {row['id']} {row.get('cve') or ''}"
        for name in both
        for row in listed[name]
        if any(SpecifierSet(one).contains(asked[name], prereleases=True) for one in row["specs"])
    ]


if __name__ == "__main__":
    works = {"wheel": wheel, "licences": licences, "sbom": sbom, "lock": lock, "audit": audit}
    raise SystemExit(works[sys.argv[1]](*sys.argv[2:]))
