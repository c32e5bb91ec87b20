#!/bin/bash
VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 VLLM_PORT=tcp://10.96.14.7:8000 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --port 8350 --host 127.0.0.1 2>&1 | tee failing.log
VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --port 8351 --host 127.0.0.1 2>&1 | tee fixed.log
