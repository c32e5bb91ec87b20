#!/bin/bash
# NixlPushConnector with bidirectional_kv_xfer
VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 VLLM_HOST_IP=127.0.0.1 UCX_NET_DEVICES=lo VLLM_NIXL_SIDE_CHANNEL_HOST=127.0.0.1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --host 127.0.0.1 --port 18403 --kv-transfer-config '{"kv_connector": "NixlPushConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"bidirectional_kv_xfer": true}}' 2>&1 | tee log.txt
