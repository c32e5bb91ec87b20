"""Prints vLLM's first block hash for each hash function; run it in two processes to compare them.

The sources of another release are chosen with PYTHONPATH. xxhash is printed only where it is
installed."""

import vllm.utils.hashing as hashing
import vllm.v1.core.kv_cache_utils as kv_cache_utils

shown = []
for name in ("sha256", "sha256_cbor"):
    kv_cache_utils.init_none_hash(getattr(hashing, name))
    shown.append(f"{name}={kv_cache_utils.NONE_HASH.hex()[:8]}")
print(*shown)
