#include "task/drop_in.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "task/settings.h"
#include "text/cpp_scan.h"

namespace kw::task {
namespace {

bool has_prepare(const Candidate& candidate) {
  return std::any_of(
      candidate.sources.begin(), candidate.sources.end(),
      [](const SourceFile& source) { return text::defines_prepare(source.content); });
}

std::string build_options(const Candidate& candidate, const std::vector<std::string>& build_flags) {
  std::vector<std::string> flags = build_flags;
  if (!flags.empty() && !flags[0].starts_with("-")) flags.erase(flags.begin());  // the compiler
  flags.insert(flags.end(), candidate.flags.begin(), candidate.flags.end());
  flags.insert(flags.end(), {"-shared", "-fPIC"});
  return join(flags, " ");
}

// The one file of the candidate.
Result<std::string> kernel_text(const Candidate& candidate) {
  if (candidate.sources.size() == 1) return candidate.sources[0].content;
  return fail(ErrorCode::kUnsupported, "{} has {} files: see solution.json", candidate.name,
              candidate.sources.size());
}

// A raw Python string where it can be one, so that the kernel can be read.
std::string python_string(const std::string& text) {
  if (text.find("'''") == std::string::npos && !text.ends_with('\\') && !text.ends_with('\''))
    return "r'''" + text + "'''";
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string python_list(const std::vector<std::string>& items) {
  return "[" + join(items, ", ") + "]";
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shape_text(const Argument& argument) {
  std::string out = "(";
  for (std::int64_t n : argument.shape) out += fmt::format("{}, ", n);
  return out + ")";
}

constexpr const char* kLoader = R"PY(

import ctypes as _ctypes
import operator as _operator
import os as _os
import shutil as _shutil
import subprocess as _subprocess
import tempfile as _tempfile

import torch as _torch

_KERNEL = {kernel}
_FLAGS = {flags}.split()


def _build():
    folder = _tempfile.mkdtemp(prefix="kernelwright-")
    try:
        source, library = _os.path.join(folder, "kernel.cpp"), _os.path.join(folder, "kernel.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(_KERNEL)
        _subprocess.run(["g++", *_FLAGS, "-o", library, source], check=True)
        return _ctypes.CDLL(library)
    finally:
        _shutil.rmtree(folder, ignore_errors=True)


_library = _build()
_call = _library.kw_call
_call.restype = None
_call.argtypes = [_ctypes.c_void_p, _ctypes.POINTER(_ctypes.c_void_p)]
_prepare = getattr(_library, "kw_prepare", None)
if _prepare is not None:
    _prepare.restype = _ctypes.c_void_p
    _prepare.argtypes = [_ctypes.POINTER(_ctypes.c_void_p)]

_INPUTS = {inputs}
_STATICS = {statics}
_OUTPUTS = {outputs}


def _pointers(addresses):
    return (_ctypes.c_void_p * max(len(addresses), 1))(*addresses)


# The kernel was promised contiguous tensors at 64-byte boundaries, with 64 readable bytes behind.
def _as_promised(tensor, what, shape, dtype):
    if tuple(tensor.shape) != shape or tensor.dtype != dtype or tensor.device.type != "cpu":
        raise ValueError(f"{{what}}: this kernel is for {{dtype}} {{list(shape)}} on the cpu, not "
                         f"{{tensor.dtype}} {{list(tensor.shape)}} on {{tensor.device}}")
    tensor = tensor.detach().contiguous()
    end = tensor.data_ptr() + tensor.numel() * tensor.element_size()
    if tensor.data_ptr() % 64 == 0 and end % 4096 <= 4096 - 64:
        return tensor
    room = _torch.empty(tensor.numel() * tensor.element_size() + 192, dtype=_torch.uint8)
    offset = -room.data_ptr() % 64
    copy = room[offset:offset + tensor.numel() * tensor.element_size()].view(dtype).view(shape)
    copy.copy_(tensor)
    return copy


class ModelNew({base}):
    def forward(self, *inputs):
        held, addresses = [], []
        for value, (name, shape, dtype) in zip(inputs, _INPUTS, strict=True):
            if shape is None:
                value = (_ctypes.c_double if dtype is float else _ctypes.c_int64)(value)
                addresses.append(_ctypes.addressof(value))
            else:
                value = _as_promised(value, name, shape, dtype)
                addresses.append(value.data_ptr())
            held.append(value)
        statics = [_as_promised(_operator.attrgetter(key)(self), key, shape, dtype)
                   for key, shape, dtype in _STATICS]
        state = self._kernel_state(statics)
        outputs = [_torch.empty(shape, dtype=dtype) for shape, dtype in _OUTPUTS]
        addresses += [tensor.data_ptr() for tensor in statics + outputs]
        _call(state, _pointers(addresses))
        del held
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    # What prepare() made of the parameters, made again when they have changed.
    def _kernel_state(self, statics):
        if _prepare is None:
            return None
        version = [(tensor.data_ptr(), tensor._version) for tensor in statics]
        if getattr(self, "_kernel_version", None) != version:
            self._kernel_version = version
            self._kernel_prepared = _prepare(_pointers([tensor.data_ptr() for tensor in statics]))
        return self._kernel_prepared
)PY";

std::string dtype_text(const Argument& argument) {
  return fmt::format("_torch.{}", tensor::to_string(argument.dtype));
}

}  // namespace

std::string source_extension(const Candidate& candidate) {
  return std::string(facts_of(candidate.language).extensions.front());
}

Result<std::string> standalone_source(const Candidate& candidate, const Signature& signature,
                                      const std::vector<std::string>& build_flags) {
  KW_TRY(std::string kernel, kernel_text(candidate));
  if (candidate.language != Language::kCpp) return kernel;
  return fmt::format("// build: g++ {} -o kernel.so kernel.cpp\n{}\n{}",
                     build_options(candidate, build_flags),
                     problem_header(signature, has_prepare(candidate)), kernel);
}

Result<std::string> drop_in_module(const Problem& problem, const Candidate& candidate,
                                   const Signature& signature,
                                   const std::vector<std::string>& build_flags) {
  if (!problem.is_module()) return fail(ErrorCode::kUnsupported, "a drop-in is for modules");
  KW_TRY(std::string kernel, kernel_text(candidate));
  if (candidate.language != Language::kCpp) return kernel;
  const Module& module = problem.module();
  KW_TRY(std::string source, apply_settings(module.source, module.settings));
  const bool prepared = has_prepare(candidate);
  const std::string text =
      problem_header(signature, prepared) + "\n" + call_shim(signature, prepared) + "\n" + kernel;
  std::vector<std::string> inputs, statics, outputs;
  for (const Argument& a : signature.inputs) {
    const bool floating = tensor::is_floating(a.dtype);
    inputs.push_back(
        a.role == Role::kScalar
            ? fmt::format("({}, None, {})", quoted(a.name), floating ? "float" : "int")
            : fmt::format("({}, {}, {})", quoted(a.name), shape_text(a), dtype_text(a)));
  }
  for (const Argument& a : signature.statics)
    statics.push_back(
        fmt::format("({}, {}, {})", quoted(a.state_key), shape_text(a), dtype_text(a)));
  for (const Argument& a : signature.outputs)
    outputs.push_back(fmt::format("({}, {})", shape_text(a), dtype_text(a)));
  return std::string(trim(source)) + "\n" +
         fmt::format(
             fmt::runtime(kLoader), fmt::arg("kernel", python_string(text)),
             fmt::arg("flags", quoted(build_options(candidate, build_flags))),
             fmt::arg("inputs", python_list(inputs)), fmt::arg("statics", python_list(statics)),
             fmt::arg("outputs", python_list(outputs)), fmt::arg("base", module.entry_point));
}

}  // namespace kw::task
