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
using AllocationHandle = unsigned long long;

inline constexpr int kSuccess = 0;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
// Whether this is how a kernel ended, as opposed to a call of the driver: the context is of no use
// afterwards.
constexpr bool is_kernel_fault(int result) {
  return result == kIllegalAddress || result == 702 || result == 710 ||
         (result >= 714 && result <= 719);
}

enum class DeviceAttribute : int {
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kPageableMemoryAccess = 88,
  kSharedBytesOptIn = 97,
};
inline constexpr int kFunctionStaticSharedBytes = 1, kFunctionLocalBytes = 3,
                     kFunctionRegisters = 4;  // of a block; of a thread
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
inline constexpr int kFunctionNonPortableCluster = 14;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kCooperative = 2, kClusterDimension = 4, kClusterScheduling = 5,
                          kProgrammaticStreamSerialization = 6;
inline constexpr int kSpreadClusters = 1;  // a value of kClusterScheduling

// CUlaunchAttribute: the id, and a union of 64 bytes.
struct LaunchAttribute {
  unsigned id = 0;
  char padding[4] = {};
  union {
    char bytes[64] = {};
    int programmatic_allowed;
    int cooperative;
    int scheduling;
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

// CUmemAllocationProp, for memory on a device that a POSIX descriptor can be made of.
struct AllocationProperties {
  int type = 1;           // pinned
  int handle_types = 1;   // POSIX descriptor
  int location_type = 1;  // device
  int device = 0;
  void* windows_data = nullptr;
  unsigned char flags[8] = {};
};
static_assert(sizeof(AllocationProperties) == 32);
inline constexpr int kPosixDescriptor = 1;
inline constexpr int kMinimumGranularity = 0;

// CUmemAccessDesc.
struct AccessDescription {
  int location_type = 1;  // device
  int device = 0;
  int access = 0;  // 1: read, 3: read and write
};
static_assert(sizeof(AccessDescription) == 12);

struct DriverApi {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(DeviceHandle*, int);
  int (*device_name)(char*, int, DeviceHandle);
  int (*device_bus_id)(char*, int, DeviceHandle);
  int (*device_attribute)(int*, int, DeviceHandle);
  int (*device_memory)(std::size_t*, DeviceHandle);
  int (*primary_context_retain)(ContextHandle*, DeviceHandle);
  int (*primary_context_release)(DeviceHandle);
  int (*context_set_current)(ContextHandle);
  int (*reset_persisting_l2)();
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*memory_allocate)(DevicePointer*, std::size_t);
  int (*memory_free)(DevicePointer);
  int (*host_allocate)(void**, std::size_t, unsigned);
  int (*host_free)(void*);
  int (*copy_to_device)(DevicePointer, const void*, std::size_t, StreamHandle);
  int (*copy_to_host)(void*, DevicePointer, std::size_t, StreamHandle);
  int (*copy_on_device)(DevicePointer, DevicePointer, std::size_t, StreamHandle);
  int (*fill_bytes)(DevicePointer, unsigned char, std::size_t, StreamHandle);
  int (*fill_16_bits)(DevicePointer, unsigned short, std::size_t count, StreamHandle);
  int (*fill_32_bits)(DevicePointer, unsigned, std::size_t count, StreamHandle);
  int (*granularity)(std::size_t*, const AllocationProperties*, int option);
  int (*allocation_create)(AllocationHandle*, std::size_t, const AllocationProperties*,
                           unsigned long long);
  int (*allocation_release)(AllocationHandle);
  int (*allocation_export)(void* descriptor, AllocationHandle, int type, unsigned long long);
  int (*allocation_import)(AllocationHandle*, void* descriptor, int type);
  int (*address_reserve)(DevicePointer*, std::size_t, std::size_t alignment, DevicePointer,
                         unsigned long long);
  int (*address_free)(DevicePointer, std::size_t);
  int (*memory_map)(DevicePointer, std::size_t, std::size_t offset, AllocationHandle,
                    unsigned long long);
  int (*memory_unmap)(DevicePointer, std::size_t);
  int (*set_access)(DevicePointer, std::size_t, const AccessDescription*, std::size_t count);
  int (*stream_create)(StreamHandle*, unsigned);
  int (*stream_destroy)(StreamHandle);
  int (*stream_synchronize)(StreamHandle);
  int (*stream_query)(StreamHandle);
  int (*stream_wait_event)(StreamHandle, EventHandle, unsigned);
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
  int (*function_attribute)(int*, int, FunctionHandle);
  // Blocks of so many threads and bytes of dynamic shared memory.
  int (*resident_blocks)(int*, FunctionHandle, int, std::size_t);
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
