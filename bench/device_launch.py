"""Launches device-only CUDA C++ with its launch descriptors (docs/formats/solution.md) on torch's tensors, without the gym: NVRTC and the driver by ctypes.

Only what tests/honest/cuda uses: no clusters, no cooperative launches, no conditional expressions.
"""

import ctypes
import ctypes.util
import functools
import glob
import json
import os
import re
import site
import sys

NUMBERS = {"int32": ctypes.c_int32, "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double}
SCALARS = {**NUMBERS, "bool": ctypes.c_bool, "int16": ctypes.c_int16, "int8": ctypes.c_int8}


@functools.cache
def nvrtc():
    """The library, of torch's packages or of the toolkit."""
    places = [os.path.join(folder, "nvidia") for folder in [*site.getsitepackages(), *sys.path] if folder]
    found = [file for place in places for file in sorted(glob.glob(os.path.join(place, "*", "lib", "libnvrtc.so.*"))) if "builtins" not in file and ".alt" not in file]
    found += sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so.*"))
    for builtins in glob.glob(os.path.join(os.path.dirname(found[0]), "libnvrtc-builtins.so.*")) if found else ():
        ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)  # NVRTC finds a loaded one by its name
    return ctypes.CDLL(next(iter(found), ctypes.util.find_library("nvrtc") or "libnvrtc.so"))


def compile_cubin(text, architecture):
    """The machine code; RuntimeError has the compiler's log."""
    library = nvrtc()
    program = ctypes.c_void_p()
    source = text.encode()
    if library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None):
        raise RuntimeError("NVRTC does not begin")
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    failed = library.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    if failed:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        library.nvrtcDestroyProgram(ctypes.byref(program))
        raise RuntimeError("does not compile: " + log.value.decode(errors="replace"))
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, code)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code.raw


def descriptors(text, kind):
    return [json.loads(line.split(":", 1)[1]) for line in text.splitlines() if line.startswith(f"// {kind}:")]


def evaluated(expression, axes):
    """An axis expression's value; `/` rounds down."""
    if isinstance(expression, int):
        return expression
    divided = {"ceil_div": lambda a, b: -(-a // b), "cdiv": lambda a, b: -(-a // b), "min": min, "max": max}
    return int(eval(re.sub(r"(?<!/)/(?!/)", "//", expression), {"__builtins__": {}}, {**divided, **axes}))


def header(definition):
    """What problem.h has: the constant axes, and the constants of <math.h>."""
    constants = [f"constexpr long long {name} = {axis['value']};" for name, axis in definition["axes"].items() if "value" in axis]
    return "\n".join(["#define INFINITY __int_as_float(0x7f800000)", "#define NAN __int_as_float(0x7fffffff)", *constants, '#line 1 "kernel.cu"', ""])


def checked(code, what):
    if code:
        raise RuntimeError(f"CUDA error {code}: {what}")


class Candidate:
    def __init__(self, text, definition, statics=()):
        import torch

        self.torch, self.definition = torch, definition
        self.launches, self.scratch = descriptors(text, "launch"), descriptors(text, "scratch")
        self.names = [name for name in definition["inputs"] if name not in statics] + [name for name in definition["inputs"] if name in statics]
        torch.zeros(1, device="cuda")  # the primary context, which the driver's calls use
        major, minor = torch.cuda.get_device_capability()
        code = compile_cubin(header(definition) + text, f"sm_{major}{minor}")
        self.driver, module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        checked(self.driver.cuModuleLoadData(ctypes.byref(module), code), "the module is not loaded")
        self.kernels = {}
        for launch in self.launches:
            kernel = ctypes.c_void_p()
            if self.driver.cuModuleGetFunction(ctypes.byref(kernel), module, launch["kernel"].encode()):
                raise RuntimeError(f"no kernel {launch['kernel']}")
            self.kernels[launch["kernel"]] = kernel

    def __call__(self, given, outputs, axes):
        """given: in the definition's order; tensors lie on the GPU."""
        torch = self.torch
        values = dict(zip(self.definition["inputs"], given)) | dict(zip(self.definition["outputs"], outputs))
        for buffer in self.scratch:
            size = evaluated(buffer["bytes"], axes)
            values[buffer["name"]] = torch.full((size,), 0 if buffer.get("zeroed") else 255, dtype=torch.uint8, device="cuda")
        varying = [name for name, axis in self.definition["axes"].items() if "value" not in axis]
        usual = [*self.names, *self.definition["outputs"], *({"int64": name} for name in varying)]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for launch in self.launches:
            arguments = [self.argument(one, values, axes) for one in launch.get("arguments", usual)]
            pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments])
            grid, block = (([evaluated(one, axes) for one in launch[key]] + [1, 1])[:3] for key in ("grid", "block"))
            shared = evaluated(launch.get("shared_memory", 0), axes)
            checked(self.driver.cuLaunchKernel(self.kernels[launch["kernel"]], *grid, *block, shared, stream, pointers, None), "a kernel is not launched")

    def argument(self, one, values, axes):
        if isinstance(one, dict):
            (kind, value), = one.items()
            return NUMBERS[kind](evaluated(value, axes) if kind.startswith("int") else float(value))
        value = values[one]
        if isinstance(value, self.torch.Tensor):
            return ctypes.c_void_p(value.data_ptr())
        return SCALARS[self.definition["inputs"][one]["dtype"]](value)
