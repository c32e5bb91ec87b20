"""The text of a fresh record: small and valid, for its author to replace piece by piece."""

from __future__ import annotations

import re

from kvdoctor.errors import InputError
from kvdoctor.form.fields import ID

_TEXT = """\
id: {id}
title: {title}
status: draft                 # proven when every fix below was shown to work
severity: error               # error, warning, danger
kind: raise                   # raise, assert, log, external, symptom
owner: vllm                   # whose message it is
connectors: []                # connectors that can fail like this; empty: any
tags: []
stage: 40                     # 10 arguments, 20 config, 30 model, 40 connector, 50 KV planning,
                              # 60 KV registration, 70 handshake, 80 first transfer, 90 later
summary: >
  What vLLM refused or what broke, in two sentences of your own.
seen_in:
  - {{vllm: ">=0.25.1", raised_in: "vllm/path/to/file.py:function_that_raises"}}

# The whole message as it stands in the log, with {{named}} holes for its values. For a bare assert
# give frame and code instead of message; for a log record give level instead of exception.
identify:
  - exception: ValueError
    message: "The cache block size {{block_size}} does not divide {{tokens}} tokens of this record."

# Every value that a check needs. Holes of the message are inputs of the same name.
inputs:
  block_size:
    type: int                 # int, number, text, bool, choice, version
    minimum: 1
    maximum: 4096
    ask: "Block size"
    find: "--block-size, or block_size in the engine's start-up line"
    reads: [block_size]
  tokens:
    type: int
    minimum: 1
    ask: "Tokens of one chunk"
    find: "the second number in the message"

# In order; the first that holds is the cause.
checks:
  - id: does-not-divide
    when: "tokens % block_size != 0"
    cause: "{{tokens}} tokens are not a whole number of blocks of {{block_size}}."
    fixes: [smaller-blocks]
    next_step: "Compare --block-size with the chunk size."

# vLLM's own condition: true for the values that it lets pass.
guard:
  - accepts: "tokens % block_size == 0"

fixes:
  smaller-blocks:
    title: Use blocks that divide the chunk
    kind: flag
    solve:
      vary: {{block_size: [8, 16, 32, 64, 128]}}
      cost: "abs(block_size - old_block_size)"
    applies: {{--block-size: "{{block_size}}"}}
    snippet: "--block-size {{block_size}}"
    changes: "Restart this instance; other block sizes cost a little speed."
    proof: {{level: unproven}}  # guard, rerun or source, with vllm, note and evidence

related: []

# Every entry of identify, every check and every fix must be reached by one example.
examples:
  - name: forty tokens in blocks of sixteen
    vllm: "0.32.0"
    log: |
      ValueError: The cache block size 16 does not divide 40 tokens of this record.
    expect:
      check: does-not-divide
      values: {{block_size: 16, tokens: 40}}
      snippets: {{smaller-blocks: "--block-size 8"}}
  - name: near miss, another message about blocks
    log: |
      ValueError: The cache has no free block.
    expect: {{belongs_to: none}}
"""


def fresh_record(record_id: str) -> str:
    """The text of a record called ``record_id``. Raises InputError when that is no id."""
    if not re.fullmatch(ID, record_id) or len(record_id) > 80:
        raise InputError(
            f"{record_id!r} is not an id",
            remedy="lower-case words joined by hyphens, named for the symptom",
        )
    words = record_id.replace("-", " ")
    return _TEXT.format(id=record_id, title=words[0].upper() + words[1:])
