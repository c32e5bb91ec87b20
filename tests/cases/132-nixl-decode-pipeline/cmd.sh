#!/bin/bash
# NixlConnector decode with two pipeline stages (the text names NixlPushConnector); fixed.log is a NixlPushConnector decode without stages
VLLM_CPU_OMP_THREADS_BIND='0|1' VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 VLLM_HOST_IP=127.0.0.1 UCX_NET_DEVICES=lo VLLM_NIXL_SIDE_CHANNEL_HOST=127.0.0.1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --host 127.0.0.1 --port 18405 --pipeline-parallel-size 2 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' 2>&1 | tee log.txt
