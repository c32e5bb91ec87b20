#!/bin/bash
VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --no-enable-prefix-caching --kv-transfer-config '{"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both"}' --port 8353 --host 127.0.0.1 2>&1 | tee silent.log
