# What a candidate's host code finds where it expects a GPU: tensors that say they are on it, a device
# with the properties of the compile target, and streams and events that do nothing.
import contextlib
import types

import torch
import triton
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from dtypes import true_device

from . import inductor

# NVIDIA H100 SXM5 data sheet; shared memory a block may ask for: CUDA C++ Programming Guide, compute capability 9.0.
MULTIPROCESSORS = 132
MAX_SHARED_BYTES = 232448
REGISTERS = 65536
MEMORY_BYTES = 80 << 30
WARP_SIZE = 32
MAX_THREADS = 1024
TYPICAL_REGISTERS = 32  # of a thread: what a compiled kernel says that is never loaded


class Device:
    """The compile target as a device: compute capability 9.0 is arch 90."""

    def __init__(self, arch):
        self.arch = arch
        self.capability = (arch // 10, arch % 10)
        self.target = GPUTarget("cuda", arch, WARP_SIZE)

    def properties(self, *_):
        return types.SimpleNamespace(
            name="NVIDIA GPU",
            major=self.capability[0],
            minor=self.capability[1],
            total_memory=MEMORY_BYTES,
            multi_processor_count=MULTIPROCESSORS,
            warp_size=WARP_SIZE,
            max_threads_per_block=MAX_THREADS,
            max_threads_per_multi_processor=2048,
            regs_per_multiprocessor=REGISTERS,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=MAX_SHARED_BYTES,
            shared_memory_per_multiprocessor=233472,
            L2_cache_size=50 << 20,
            is_integrated=0,
        )


def install(device, launcher_class, load=lambda name, binary: object()):
    """Makes this process look like one with `device`; launcher_class(source, metadata) is what Triton calls to launch,
    with what load(name, binary) gave for the kernel."""
    _cover_tensors()
    _cover_cuda(device)
    triton.runtime.driver.set_active(Driver(device, launcher_class, load))
    OnTheCpu().__enter__()  # for the rest of the process's life


def _cover_tensors():
    def device(tensor):
        real = true_device(tensor)
        return torch.device("cuda", 0) if real.type == "cpu" else real

    torch.Tensor.is_cuda = property(lambda tensor: true_device(tensor).type == "cpu")
    torch.Tensor.is_cpu = property(lambda tensor: False)
    torch.Tensor.device = property(device)
    torch.Tensor.get_device = lambda tensor: 0


class OnTheCpu(TorchFunctionMode):
    """torch calls that name a CUDA device are made for the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.cuda:
            return args[0]
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if any(_is_cuda(value) for value in args[1:]):
            args = (args[0], *("cpu" if _is_cuda(value) else value for value in args[1:]))
        return function(*args, **kwargs)


def _is_cuda(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


class _Nothing:
    """A stream, an event or a guard: everything that a candidate may do with one has no effect here."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def query(self):
        return True

    def elapsed_time(self, other):
        return 0.0

    def _ignore(self, *args, **kwargs):
        return None

    synchronize = wait = wait_stream = wait_event = record = _ignore

    def record_event(self, event=None):
        return event or _Nothing()


def _cover_cuda(device):
    cuda = torch.cuda
    answers = {
        "is_available": True,
        "is_initialized": True,
        "init": None,
        "device_count": 1,
        "current_device": 0,
        "set_device": None,
        "get_device_name": "NVIDIA GPU",
        "get_device_capability": device.capability,
        "is_bf16_supported": True,
        "synchronize": None,
        "_exchange_device": 0,
        "_maybe_exchange_device": 0,
        "_lazy_init": None,
        "is_current_stream_capturing": False,
        "set_stream": None,
        "get_arch_list": [f"sm_{device.arch}"],
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "ipc_collect": None,
        "empty_cache": None,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "reset_peak_memory_stats": None,
        "mem_get_info": (MEMORY_BYTES, MEMORY_BYTES),
        "manual_seed": None,
        "manual_seed_all": None,
        "current_stream": _Nothing(),
        "default_stream": _Nothing(),
        "stream": contextlib.nullcontext(),
    }
    for name, answer in answers.items():
        setattr(cuda, name, lambda *args, _answer=answer, **kwargs: _answer)
    cuda.get_device_properties = device.properties
    for name in ("Stream", "Event", "ExternalStream", "device", "device_of", "_DeviceGuard"):
        setattr(cuda, name, _Nothing)
    _cover_generated_code()


def _cover_generated_code():
    """What TorchInductor's files ask of torch beside its public names."""
    answers = {
        "_cuda_getCurrentRawStream": 0,
        "_cuda_getDevice": 0,
        "_cuda_setDevice": None,
        "_cuda_exchangeDevice": 0,
        "_cuda_maybeExchangeDevice": 0,
        "_cuda_synchronize": None,
    }
    for name, answer in answers.items():
        setattr(torch._C, name, lambda *_, _answer=answer: _answer)
    torch._C._dynamo.guards._empty_strided_cuda = lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype)
    inductor.install()


class _Utils:
    """What Triton asks of a GPU driver library."""

    def __init__(self, load):
        self._load = load

    def get_device_properties(self, device):
        return {
            "max_shared_mem": MAX_SHARED_BYTES,
            "max_num_regs": REGISTERS,
            "multiprocessor_count": MULTIPROCESSORS,
            "warpSize": WARP_SIZE,
            "sm_clock_rate": 1980000,
            "mem_clock_rate": 2619000,
            "mem_bus_width": 5120,
        }

    def load_binary(self, name, kernel, shared, device):
        return object(), self._load(name, kernel), TYPICAL_REGISTERS, 0, MAX_THREADS

    def unload_module(self, module):
        pass

    def set_printf_fifo_size(self, size):
        pass


class Driver(DriverBase):
    """Triton's view of the device. Launches go to launcher_class."""

    def __init__(self, device, launcher_class, load):
        super().__init__()
        self.utils = _Utils(load)
        self.launcher_cls = launcher_class
        self._device = device

    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        return self._device.target

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return self._device.capability

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        raise RuntimeError("there is no GPU here to measure on")

    def get_empty_cache_for_benchmark(self):
        return torch.empty(0)

    def clear_cache(self, cache):
        pass
