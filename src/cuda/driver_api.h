// The part of CUDA's driver API that we call: names, values and layouts of cuda.h (CUDA 13.0, the
// same since 12.3), declared here so that one build runs with and without a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace kw::cuda {

using DevicePointer = std::uint64_t;
using DeviceHandle = int;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphExecHandle = struct GraphExecTag*;

inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;

enum class DeviceAttribute : int {
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytesOptIn = 97,
};
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kClusterDimension = 4, kProgrammaticStreamSerialization = 6;

// CUlaunchAttribute: the id, and a union of 64 bytes.
struct LaunchAttribute {
  unsigned id = 0;
  char padding[4] = {};
  union {
    char bytes[64] = {};
    int programmatic_allowed;
    unsigned cluster[3];
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

struct DriverApi {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(DeviceHandle*, int);
  int (*device_name)(char*, int, DeviceHandle);
  int (*device_attribute)(int*, int, DeviceHandle);
  int (*primary_context_retain)(ContextHandle*, DeviceHandle);
  int (*primary_context_release)(DeviceHandle);
  int (*context_set_current)(ContextHandle);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*memory_allocate)(DevicePointer*, std::size_t);
  int (*memory_free)(DevicePointer);
  int (*host_allocate)(void**, std::size_t, unsigned);
  int (*host_free)(void*);
  int (*copy_to_device)(DevicePointer, const void*, std::size_t, StreamHandle);
  int (*copy_to_host)(void*, DevicePointer, std::size_t, StreamHandle);
  int (*copy_on_device)(DevicePointer, DevicePointer, std::size_t, StreamHandle);
  int (*fill_bytes)(DevicePointer, unsigned char, std::size_t, StreamHandle);
  int (*stream_create)(StreamHandle*, unsigned);
  int (*stream_destroy)(StreamHandle);
  int (*stream_synchronize)(StreamHandle);
  int (*stream_begin_capture)(StreamHandle, int);
  int (*stream_end_capture)(StreamHandle, GraphHandle*);
  int (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long);
  int (*graph_launch)(GraphExecHandle, StreamHandle);
  int (*graph_exec_destroy)(GraphExecHandle);
  int (*graph_destroy)(GraphHandle);
  int (*event_create)(EventHandle*, unsigned);
  int (*event_destroy)(EventHandle);
  int (*event_record)(EventHandle, StreamHandle);
  int (*event_synchronize)(EventHandle);
  int (*event_elapsed)(float*, EventHandle, EventHandle);
  int (*module_load)(ModuleHandle*, const void*);
  int (*module_unload)(ModuleHandle);
  int (*module_function)(FunctionHandle*, ModuleHandle, const char*);
  int (*function_set_attribute)(FunctionHandle, int, int);
  int (*launch)(const LaunchConfig*, FunctionHandle, void**, void**);
  // Type, dimensions, address, sizes, strides, box, element strides, interleaving, swizzle,
  // promotion, what lies outside.
  int (*tensor_map_encode)(void*, int, unsigned, DevicePointer, const std::uint64_t*,
                           const std::uint64_t*, const unsigned*, const unsigned*, int, int, int,
                           int);
  int (*error_name)(int, const char**);
  int (*error_text)(int, const char**);
};

// Loaded and initialised once, at the first call. kUnsupported says what this machine lacks.
Result<const DriverApi*> load_driver_api();
// After load_driver_api() has succeeded.
const DriverApi& driver();

// ok, or an error with CUDA's name and text for it; out of memory is kResourceExhausted.
Status driver_status(int result, const std::string& what);

}  // namespace kw::cuda
