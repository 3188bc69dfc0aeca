# What stands in for FlagGems' host side, which looks for devices and measures: the kernels are the wheel's own.
RUNTIME = '''
import torch
import triton
from flag_gems.runtime.backend._nvidia.heuristics_config_utils import HEURISTICS_CONFIGS

torch_device_fn = torch.cuda


class device:
    name = vendor_name = "cuda"


class backend:
    pass


_BLOCKS = {"BLOCK_M": 8, "BLOCK_N": 128}
_TUNED = {
    "naive_reduction": _BLOCKS, "log_softmax": _BLOCKS, "mv": {"BLOCK_M": 32, "BLOCK_N": 32}, "vector_norm": _BLOCKS, "var_mean": _BLOCKS,
    "triu": {"M_BLOCK_SIZE": 8, "N_BLOCK_SIZE": 128}, "triu_batch": {"BATCH_BLOCK_SIZE": 1, "MN_BLOCK_SIZE": 512},
    "count_nonzero": {"BLOCK_SIZE": 1024}, "weight_norm_kernel_first": {"BLOCK_ROW_SIZE": 8, "BLOCK_COL_SIZE": 128},
    "weight_norm_kernel_last": {"BLOCK_ROW_SIZE": 32, "BLOCK_COL_SIZE": 32}, "softmax_inner": {"TILE_N": 1024},
}


def get_heuristic_config(name):
    return HEURISTICS_CONFIGS[name]


def get_tuned_config(name):
    return [triton.Config(_TUNED.get(name, _BLOCKS))]
'''

UTILS = '''
import triton
from triton.language.extra import libdevice as tl_extra_shim
from flag_gems.utils.shape_utils import broadcastable, broadcastable_to, dim_compress, offsetCalculator, restride_dim


def libentry(**_):
    return lambda function: function


def libtuner(configs, key, **_):
    return triton.autotune(configs=configs, key=key)


def get_device_properties(*_):
    import torch
    return torch.cuda.get_device_properties(0)
'''

FILES = {
    "flag_gems/runtime/__init__.py": RUNTIME,
    "flag_gems/utils/__init__.py": UTILS,
    "flag_gems/utils/codegen_config_utils.py": "def get_heuristics_for_num_warps(size):\n    return 4\n",
    "flag_gems/utils/triton_lang_helper.py": "def use_tl_extra(function):\n    return function\n",
    "flag_gems/ops/zeros.py": "def zero_(x):\n    return x.zero_()\n",
}
