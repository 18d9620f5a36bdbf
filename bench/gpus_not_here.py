"""GPUs that are not here, for XLA to compile for.

In: how many machines, with how many H200 each.  Out: devices that a program can be compiled for,
and nothing can run on.  No GPU need be at hand, but JAX's CUDA wheels must be
(`pip install "manyhands[cuda13]"`).
"""

from __future__ import annotations

import os
from typing import Any

H200 = """
gpu_device_info {
  cuda_compute_capability { major: 9 }
  core_count: 132  fpus_per_core: 128  clock_rate_ghz: 1.98
  threads_per_warp: 32  threads_per_block_limit: 1024  threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535  block_dim_limit_z: 65535
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
  shared_memory_per_block: 49152  shared_memory_per_block_optin: 232448
  shared_memory_per_core: 233472  l2_cache_size: 52428800
  memory_bandwidth: 4800000000000  device_memory_size: 150754820096
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 }
runtime_version { major: 13 }
device_description_str: "NVIDIA H200"
"""


def gpus(machines: int, per_machine: int) -> list[Any]:
    """Describe the GPUs of some machines to JAX, which must not have started."""
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_autotune_level=0"  # there is nothing to try on
    from jax.experimental import topologies

    shape = f"1x{machines}x{per_machine}"
    described = topologies.get_topology_desc(platform="cuda", topology=shape, target_config=H200)
    return list(described.devices)
