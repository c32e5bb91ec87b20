"""Minimal objects that vLLM's guards read, built the same way in every release."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

KV = "vllm.distributed.kv_transfer.kv_connector"
INTERFACE = "vllm.v1.kv_cache_interface"


class GoneError(Exception):
    """The function or class is not part of this vLLM build."""


class ForeignValueError(Exception):
    """This build does not know such a value at all (a layout of a later release)."""


class MissingFieldError(AttributeError):
    """vLLM reads a field that the caller does not provide: the caller is too old for the build."""


class Stub(SimpleNamespace):
    """A bag of inputs. An unknown field is reported as a fault of the caller, not of the guard."""

    def __getattr__(self, name: str) -> Any:
        raise MissingFieldError(f"the caller gives no value for {name!r}")


class PassedError(Exception):
    """Raised by a stand-in behind the guard: the guard let the values through."""


@functools.cache
def find(*targets: str) -> Any:
    """First of ``"package.module:attribute.path"`` that exists; raises GoneError when none does."""
    for target in targets:
        module_name, _, path = target.partition(":")
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if module_name == missing or module_name.startswith(missing + "."):
                continue
            raise
        try:
            for part in filter(None, path.split(".")):
                found = getattr(found, part)
        except AttributeError:
            continue
        return found
    raise GoneError(targets[0])


@contextlib.contextmanager
def patched(target: Any, **values: Any) -> Iterator[None]:
    """Replace attributes of a module or class for the time of one call."""
    before = {name: target.__dict__[name] for name in values if name in target.__dict__}
    for name, value in values.items():
        setattr(target, name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                setattr(target, name, before[name])
            else:
                delattr(target, name)


def _forget_cached_environment() -> None:
    envs = importlib.import_module("vllm.envs")
    forget = getattr(envs, "disable_envs_cache", None)
    if forget is not None:
        forget()


@contextlib.contextmanager
def environment(**values: str | None) -> Iterator[None]:
    """Set (or with None: unset) environment variables for the time of one call."""
    before = {name: os.environ.get(name) for name in values}

    def put(wanted: dict[str, str | None]) -> None:
        for name, value in wanted.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _forget_cached_environment()

    put(values)
    try:
        yield
    finally:
        put(before)


def accepted_by(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Those values that the function has a parameter for: signatures grow over the releases."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in values.items() if name in names}


# ------------------------------------------------------------------ KV cache specs


def half() -> Any:
    return find("torch:float16")


@functools.lru_cache(maxsize=4096)
def full(block_size: int = 16, heads: int = 2, head_size: int = 64, **more: Any) -> Any:
    return find(f"{INTERFACE}:FullAttentionSpec")(
        block_size=block_size, num_kv_heads=heads, head_size=head_size, dtype=half(), **more
    )


@functools.lru_cache(maxsize=4096)
def sliding(block_size: int = 16, heads: int = 2, head_size: int = 64, window: int = 64) -> Any:
    return find(f"{INTERFACE}:SlidingWindowSpec")(
        block_size=block_size,
        num_kv_heads=heads,
        head_size=head_size,
        dtype=half(),
        sliding_window=window,
    )


@functools.lru_cache(maxsize=4096)
def chunked(block_size: int = 16) -> Any:
    return find(f"{INTERFACE}:ChunkedLocalAttentionSpec")(
        block_size=block_size,
        num_kv_heads=2,
        head_size=64,
        dtype=half(),
        attention_chunk_size=64,
    )


@functools.lru_cache(maxsize=4096)
def mamba(block_size: int = 64, mode: str = "align") -> Any:
    shape = ((4, 8), (4, 8))
    float32 = find("torch:float32")
    return find(f"{INTERFACE}:MambaSpec")(
        block_size=block_size, shapes=shape, dtypes=(float32, float32), mamba_cache_mode=mode
    )


@functools.lru_cache(maxsize=4096)
def cross(block_size: int = 16) -> Any:
    return find(f"{INTERFACE}:CrossAttentionSpec")(
        block_size=block_size, num_kv_heads=2, head_size=64, dtype=half()
    )


@functools.lru_cache(maxsize=4096)
def mla(block_size: int = 16, head_size: int = 576, tokens_per_state: int = 1) -> Any:
    """An MLA spec; ``tokens_per_state`` > 1 is a compressed cache (its field has several names)."""
    spec = find(f"{INTERFACE}:MLAAttentionSpec")
    names = {field.name for field in dataclasses.fields(spec)}
    more: dict[str, Any] = {}
    if tokens_per_state != 1:
        known = ("compress_ratio", "tokens_per_state", "_tokens_per_state")
        more[next(name for name in known if name in names)] = tokens_per_state
    return spec(block_size=block_size, num_kv_heads=1, head_size=head_size, dtype=half(), **more)


def groups(*specs: Any) -> list[Any]:
    group = find(f"{INTERFACE}:KVCacheGroupSpec")
    return [group([f"model.layers.{i}.self_attn.attn"], spec) for i, spec in enumerate(specs)]


def cache_layout(*specs: Any, num_blocks: int = 8) -> Any:
    """A KVCacheConfig with one group for each spec."""
    return find(f"{INTERFACE}:KVCacheConfig")(
        num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=groups(*specs)
    )


# ------------------------------------------------------------------ configurations


def transfer(
    connector: str = "NixlConnector",
    role: str = "kv_both",
    *,
    path: str | None = None,
    **extra: Any,
) -> Any:
    """A real KVTransferConfig; ``extra`` becomes kv_connector_extra_config."""
    more: dict[str, Any] = {} if path is None else {"kv_connector_module_path": path}
    return find("vllm.config:KVTransferConfig")(
        kv_connector=connector,
        kv_role=role,
        engine_id="e",
        kv_connector_extra_config=extra,
        **more,
    )


def worker_role() -> Any:
    return find(f"{KV}.v1.base:KVConnectorRole").WORKER


def scheduler_role() -> Any:
    return find(f"{KV}.v1.base:KVConnectorRole").SCHEDULER
