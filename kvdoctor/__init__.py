"""kvdoctor: from a pasted vLLM log to the root cause of a KV-cache failure and a proven fix.

Offline and deterministic; no language model is involved anywhere.
"""

__version__ = "0.1.0"
