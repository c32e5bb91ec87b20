#!/bin/bash
# MooncakeStoreConnector with a master that runs: the server starts and answers (fixed.log).
mooncake_master --rpc_port=50051 --rpc_address=127.0.0.1 --metrics_port=19003 &
echo '{"metadata_server":"P2PHANDSHAKE","master_server_address":"127.0.0.1:50051","protocol":"tcp","device_name":"","global_segment_size":"64MB","local_buffer_size":"32MB"}' > mooncake.json
VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1 MOONCAKE_CONFIG_PATH=/models/mooncake.json VLLM_HOST_IP=127.0.0.1 MC_TCP_BIND_ADDRESS=127.0.0.1 vllm serve /models/tiny-llama --load-format dummy --enforce-eager --max-model-len 512 --kv-transfer-config '{"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}' --port 8340 --host 127.0.0.1 2>&1 | tee fixed.log
# Without MOONCAKE_CONFIG_PATH the same command ends as in no-config-path.log.
# setup_mooncake_store() alone, Mooncake 0.3.13, protocol tcp and rdma, master running: returned, put and get of a key worked;
# metadata_server http://127.0.0.1:8077/metadata where nothing listens: "Initialize MooncakeDistributedStore failed.".
