#!/bin/bash
# fix: --kv-cache-memory-bytes 1G
HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --host 127.0.0.1 --port 18407 --kv-cache-memory-bytes 1G 2>&1 | tee fixed.log
