#include "cuda/driver_api.h"

#include <mutex>
#include <optional>

#include "base/check.h"
#include "cuda/library.h"

namespace kw::cuda {
namespace {

Status find_memory_functions(const Library& library, DriverApi& api) {
  KW_TRY_STATUS(library.find("cuMemGetInfo_v2", api.memory_info));
  KW_TRY_STATUS(library.find("cuMemAlloc_v2", api.memory_allocate));
  KW_TRY_STATUS(library.find("cuMemFree_v2", api.memory_free));
  KW_TRY_STATUS(library.find("cuMemHostAlloc", api.host_allocate));
  KW_TRY_STATUS(library.find("cuMemFreeHost", api.host_free));
  KW_TRY_STATUS(library.find("cuMemcpyHtoDAsync_v2", api.copy_to_device));
  KW_TRY_STATUS(library.find("cuMemcpyDtoHAsync_v2", api.copy_to_host));
  KW_TRY_STATUS(library.find("cuMemcpyDtoDAsync_v2", api.copy_on_device));
  KW_TRY_STATUS(library.find("cuMemsetD16Async", api.fill_16_bits));
  KW_TRY_STATUS(library.find("cuMemsetD32Async", api.fill_32_bits));
  return library.find("cuMemsetD8Async", api.fill_bytes);
}

Status find_sharing_functions(const Library& library, DriverApi& api) {
  KW_TRY_STATUS(library.find("cuMemGetAllocationGranularity", api.granularity));
  KW_TRY_STATUS(library.find("cuMemCreate", api.allocation_create));
  KW_TRY_STATUS(library.find("cuMemRelease", api.allocation_release));
  KW_TRY_STATUS(library.find("cuMemExportToShareableHandle", api.allocation_export));
  KW_TRY_STATUS(library.find("cuMemImportFromShareableHandle", api.allocation_import));
  KW_TRY_STATUS(library.find("cuMemAddressReserve", api.address_reserve));
  KW_TRY_STATUS(library.find("cuMemAddressFree", api.address_free));
  KW_TRY_STATUS(library.find("cuMemMap", api.memory_map));
  KW_TRY_STATUS(library.find("cuMemUnmap", api.memory_unmap));
  return library.find("cuMemSetAccess", api.set_access);
}

Status find_stream_functions(const Library& library, DriverApi& api) {
  KW_TRY_STATUS(library.find("cuStreamCreate", api.stream_create));
  KW_TRY_STATUS(library.find("cuStreamDestroy_v2", api.stream_destroy));
  KW_TRY_STATUS(library.find("cuStreamSynchronize", api.stream_synchronize));
  KW_TRY_STATUS(library.find("cuStreamQuery", api.stream_query));
  KW_TRY_STATUS(library.find("cuStreamWaitEvent", api.stream_wait_event));
  KW_TRY_STATUS(library.find("cuStreamBeginCapture_v2", api.stream_begin_capture));
  KW_TRY_STATUS(library.find("cuStreamEndCapture", api.stream_end_capture));
  KW_TRY_STATUS(library.find("cuGraphInstantiateWithFlags", api.graph_instantiate));
  KW_TRY_STATUS(library.find("cuGraphLaunch", api.graph_launch));
  KW_TRY_STATUS(library.find("cuGraphExecDestroy", api.graph_exec_destroy));
  KW_TRY_STATUS(library.find("cuGraphDestroy", api.graph_destroy));
  KW_TRY_STATUS(library.find("cuEventCreate", api.event_create));
  KW_TRY_STATUS(library.find("cuEventDestroy_v2", api.event_destroy));
  KW_TRY_STATUS(library.find("cuEventRecord", api.event_record));
  KW_TRY_STATUS(library.find("cuEventSynchronize", api.event_synchronize));
  return library.find("cuEventElapsedTime", api.event_elapsed);
}

Status find_functions(const Library& library, DriverApi& api) {
  KW_TRY_STATUS(library.find("cuInit", api.init));
  KW_TRY_STATUS(library.find("cuDriverGetVersion", api.driver_version));
  KW_TRY_STATUS(library.find("cuDeviceGetCount", api.device_count));
  KW_TRY_STATUS(library.find("cuDeviceGet", api.device_get));
  KW_TRY_STATUS(library.find("cuDeviceGetName", api.device_name));
  KW_TRY_STATUS(library.find("cuDeviceGetPCIBusId", api.device_bus_id));
  KW_TRY_STATUS(library.find("cuDeviceGetAttribute", api.device_attribute));
  KW_TRY_STATUS(library.find("cuDeviceTotalMem_v2", api.device_memory));
  KW_TRY_STATUS(library.find("cuDevicePrimaryCtxRetain", api.primary_context_retain));
  KW_TRY_STATUS(library.find("cuDevicePrimaryCtxRelease_v2", api.primary_context_release));
  KW_TRY_STATUS(library.find("cuCtxSetCurrent", api.context_set_current));
  KW_TRY_STATUS(library.find("cuCtxResetPersistingL2Cache", api.reset_persisting_l2));
  KW_TRY_STATUS(find_memory_functions(library, api));
  KW_TRY_STATUS(find_sharing_functions(library, api));
  KW_TRY_STATUS(find_stream_functions(library, api));
  KW_TRY_STATUS(library.find("cuModuleLoadData", api.module_load));
  KW_TRY_STATUS(library.find("cuModuleUnload", api.module_unload));
  KW_TRY_STATUS(library.find("cuModuleGetFunction", api.module_function));
  KW_TRY_STATUS(library.find("cuFuncSetAttribute", api.function_set_attribute));
  KW_TRY_STATUS(library.find("cuFuncGetAttribute", api.function_attribute));
  KW_TRY_STATUS(library.find("cuOccupancyMaxActiveBlocksPerMultiprocessor", api.resident_blocks));
  KW_TRY_STATUS(library.find("cuLaunchKernelEx", api.launch));
  KW_TRY_STATUS(library.find("cuTensorMapEncodeTiled", api.tensor_map_encode));
  KW_TRY_STATUS(library.find("cuGetErrorName", api.error_name));
  return library.find("cuGetErrorString", api.error_text);
}

DriverApi& table() {
  static DriverApi api{};
  return api;
}

Status open_driver() {
  KW_TRY(Library library, Library::open("NVIDIA driver", {"libcuda.so.1"}));
  KW_TRY_STATUS(find_functions(library, table()));
  return driver_status(table().init(0), "cannot start CUDA's driver");
}

}  // namespace

Result<const DriverApi*> load_driver_api() {
  static std::once_flag once;
  static std::optional<Error> error;
  std::call_once(once, [] {
    if (Status loaded = open_driver(); !loaded) error = loaded.error();
  });
  if (error) return tl::unexpected(*error);
  return &table();
}

const DriverApi& driver() {
  KW_CHECK(table().init != nullptr);
  return table();
}

Status driver_status(int result, const std::string& what) {
  if (result == kSuccess) return {};
  const char *name = nullptr, *text = nullptr;
  if (driver().error_name != nullptr) driver().error_name(result, &name);
  if (driver().error_text != nullptr) driver().error_text(result, &text);
  ErrorCode code = ErrorCode::kInternal;
  if (result == kOutOfMemory) code = ErrorCode::kResourceExhausted;
  if (result == kNoDevice) code = ErrorCode::kUnsupported;
  return fail(code, "{}: {} ({})", what, text == nullptr ? "unknown error" : text,
              name == nullptr ? std::to_string(result) : name);
}

}  // namespace kw::cuda
