#include "cuda/module.h"

namespace kw::cuda {

Status Function::allow_shared_bytes(std::size_t bytes) const {
  return driver_status(driver().function_set_attribute(handle_, kFunctionMaxDynamicSharedBytes,
                                                       static_cast<int>(bytes)),
                       fmt::format("a kernel needs {} bytes of shared memory", bytes));
}

Result<FunctionNeeds> Function::needs() const {
  FunctionNeeds out;
  auto attribute = [this](int which, int& value) {
    return driver_status(driver().function_attribute(&value, which, handle_),
                         "cannot ask a kernel for an attribute");
  };
  KW_TRY_STATUS(attribute(kFunctionRegisters, out.registers));
  KW_TRY_STATUS(attribute(kFunctionLocalBytes, out.local_bytes));
  KW_TRY_STATUS(attribute(kFunctionStaticSharedBytes, out.shared_bytes));
  return out;
}

Result<int> Function::resident_blocks(int threads, std::size_t shared_bytes) const {
  int blocks = 0;
  KW_TRY_STATUS(driver_status(driver().resident_blocks(&blocks, handle_, threads, shared_bytes),
                              "cannot ask for a kernel's occupancy"));
  return blocks;
}

Status Function::launch_pointers(const Stream& stream, const LaunchShape& shape,
                                 void** pointers) const {
  LaunchAttribute attributes[2];
  LaunchConfig config{shape.grid[0],
                      shape.grid[1],
                      shape.grid[2],
                      shape.threads,
                      1,
                      1,
                      shape.shared_bytes,
                      stream.get(),
                      attributes,
                      0};
  if (shape.overlaps) {
    LaunchAttribute& one = attributes[config.attribute_count++];
    one.id = kProgrammaticStreamSerialization;
    one.programmatic_allowed = 1;
  }
  if (shape.cluster_y > 1) {
    LaunchAttribute& one = attributes[config.attribute_count++];
    one.id = kClusterDimension;
    one.cluster[0] = one.cluster[2] = 1;
    one.cluster[1] = shape.cluster_y;
  }
  return driver_status(driver().launch(&config, handle_, pointers, nullptr),
                       "cannot start a kernel");
}

Result<Module> Module::load(const std::string& cubin) {
  ModuleHandle handle = nullptr;
  KW_TRY_STATUS(
      driver_status(driver().module_load(&handle, cubin.data()), "cannot load machine code"));
  Module out;
  out.handle_ = Owned<ModuleHandle, &DriverApi::module_unload>(handle);
  return out;
}

Result<Function> Module::function(const std::string& name) const {
  FunctionHandle handle = nullptr;
  KW_TRY_STATUS(driver_status(driver().module_function(&handle, handle_.get(), name.c_str()),
                              "kernel " + name));
  return Function(handle);
}

}  // namespace kw::cuda
