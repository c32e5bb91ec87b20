"""Connector factory, MultiConnector and what the engine config asks of a connector."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import build
from .build import KV, PassedError, Stub, find, patched
from .registry import guard

FACTORY = f"{KV}.factory:KVConnectorFactory"
MULTI = f"{KV}.v1.multi_connector:MultiConnector"
EXAMPLE = f"{KV}.v1.example_connector"
OUTSIDE = "kvdoctor_outside_connector"


def _connector_config(name: str, module_path: str | None = None) -> Any:
    if module_path is None:
        return build.transfer(name)
    return build.transfer(name, path=module_path)


@guard("factory-unsupported-type")
def registered_name(kv_connector: str) -> None:
    find(f"{FACTORY}.get_connector_class")(_connector_config(kv_connector))


@guard("factory-name-missing")
def name_given(kv_connector: str) -> None:
    config = (
        _connector_config(kv_connector) if kv_connector else find("vllm.config:KVTransferConfig")()
    )
    find(f"{FACTORY}.get_connector_class")(config)


@guard("factory-empty-module-path")
def module_path(module_path_given: bool, kv_connector_module_path: str) -> None:
    given = kv_connector_module_path if module_path_given else None
    find(f"{FACTORY}.get_connector_class")(_connector_config("ExampleConnector", given))


@guard("factory-class-not-found")
def class_in_module(kv_connector: str, kv_connector_module_path: str) -> None:
    find(f"{FACTORY}.get_connector_class")(
        _connector_config(kv_connector, kv_connector_module_path or None)
    )


@guard("factory-2arg-ctor")
def outside_class(accepts_kv_cache_config: bool, accepts_any_keyword: bool) -> None:
    """A connector outside vLLM, with and without the third constructor argument."""
    module = ModuleType(OUTSIDE)
    if accepts_any_keyword:

        def init(self: Any, vllm_config: Any, role: Any, **more: Any) -> None:
            return None

    elif accepts_kv_cache_config:

        def init(self: Any, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:  # type: ignore[misc]
            return None

    else:

        def init(self: Any, vllm_config: Any, role: Any) -> None:  # type: ignore[misc]
            return None

    module.__dict__["Outside"] = type("Outside", (), {"__init__": init})
    sys.modules[OUTSIDE] = module
    try:
        find(f"{FACTORY}.get_connector_class")(_connector_config("Outside", OUTSIDE))
    finally:
        del sys.modules[OUTSIDE]


def _children(names: str) -> list[dict[str, str]]:
    return [{"kv_connector": name, "kv_role": "kv_both"} for name in names.split("+") if name]


def _constructed(*_: Any, **__: Any) -> Any:
    raise PassedError


@guard("factory-hma-unsupported")
def hybrid_manager(
    kv_connector: str, disable_hybrid_kv_cache_manager: bool, connectors: str = ""
) -> None:
    """``connectors``: names of MultiConnector's children, joined by "+"."""
    factory = find(FACTORY)
    extra: dict[str, Any] = {"connectors": _children(connectors)} if connectors else {}
    config = Stub(
        kv_transfer_config=build.transfer(kv_connector, **extra),
        scheduler_config=Stub(disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager),
    )
    real = factory.get_connector_class(config.kv_transfer_config)
    with patched(real, __init__=_constructed):
        try:
            factory.create_connector(config, build.worker_role(), build.cache_layout(build.full()))
        except PassedError:
            return


# ------------------------------------------------------------------ MultiConnector


@guard("multi-hma")
def children_support_hma(connectors: str, disable_hybrid_kv_cache_manager: bool) -> None:
    """MultiConnector's constructor; its children are looked at by class and never created."""
    multi = find(MULTI)
    config = Stub(
        kv_transfer_config=build.transfer("MultiConnector", connectors=_children(connectors)),
        scheduler_config=Stub(disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager),
        parallel_config=Stub(),
    )

    class Childless(multi):  # type: ignore[misc, valid-type]
        @classmethod
        def _get_connector_classes_and_configs(cls, vllm_config: Any) -> list[Any]:
            return []

    Childless(config, build.scheduler_role(), build.cache_layout(build.full()))


@guard("multi-mem-pool")
def memory_pools(children: int, children_with_pool: int) -> None:
    has = [i < children_with_pool for i in range(children)]
    made = [Stub(get_mem_pool_context=lambda pool=pool: object() if pool else None) for pool in has]
    find(f"{MULTI}.get_mem_pool_context")(Stub(_connectors=made))


@guard("multi-finished-count")
def finished_counts(first: int, second: int, third: int) -> None:
    """Finished counts that three children report; 0 stands for a child that reports none."""
    made = [
        Stub(get_finished_count=lambda count=count: count or None)
        for count in (first, second, third)
    ]
    find(f"{MULTI}.get_finished_count")(Stub(_connectors=made))


@guard("multi-layout")
def child_layouts(first_layout: str, second_layout: str, third_layout: str) -> None:
    """Layouts that the children require; "" stands for a child that requires none."""
    multi = find(MULTI)
    layouts = (first_layout, second_layout, third_layout)
    made = [Stub(get_required_kvcache_layout=lambda _, name=name: name or None) for name in layouts]

    class WithChildren(multi):  # type: ignore[misc, valid-type]
        @classmethod
        def _get_connector_classes_and_configs(cls, vllm_config: Any) -> list[Any]:
            return [(child, None) for child in made]

    WithChildren.get_required_kvcache_layout(
        Stub(kv_transfer_config=build.transfer("MultiConnector"))
    )
