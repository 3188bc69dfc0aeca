// Modules: machine code on the GPU; functions of it, and their launches.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/stream.h"

namespace kw::cuda {

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned threads = 0;
  unsigned shared_bytes = 0;  // dynamic
  unsigned cluster_y = 1;     // blocks of the same x and z that read each other's shared memory
  // May start while the kernel before it runs (programmatic dependent launch); the kernel then
  // waits with griddepcontrol.wait where it must.
  bool overlaps = false;
};

// FunctionNeeds: a kernel takes so much of a multiprocessor.
struct FunctionNeeds {
  int registers = 0, local_bytes = 0;  // of a thread
  int shared_bytes = 0;                // of a block, static
};

// Borrowed from a module.
class Function {
 public:
  Function() = default;
  explicit Function(FunctionHandle handle) : handle_(handle) {}
  bool valid() const { return handle_ != nullptr; }
  FunctionHandle get() const { return handle_; }
  // More than 48 KiB of dynamic shared memory must be asked for.
  Status allow_shared_bytes(std::size_t bytes) const;
  Result<FunctionNeeds> needs() const;
  // How many of its blocks a multiprocessor holds at once. shared_bytes: dynamic.
  Result<int> resident_blocks(int threads, std::size_t shared_bytes) const;
  // Arguments have the types of the kernel's parameters.
  template <typename... Args>
  Status launch(const Stream& stream, const LaunchShape& shape, const Args&... arguments) const {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    return launch_pointers(stream, shape, pointers);
  }
  // Each pointer is to an argument of the parameter's type.
  Status launch_pointers(const Stream& stream, const LaunchShape& shape, void** pointers) const;

 private:
  FunctionHandle handle_ = nullptr;
};

class Module {
 public:
  Module() = default;
  static Result<Module> load(const std::string& cubin);
  Result<Function> function(const std::string& name) const;  // kInternal: no such kernel

 private:
  Owned<ModuleHandle, &DriverApi::module_unload> handle_;
};

}  // namespace kw::cuda
