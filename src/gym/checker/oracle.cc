#include "gym/checker/oracle.h"

#include <cstring>

namespace kw::gym {
namespace {

Status copy_tensor(const TensorMemory& memory, std::size_t i, std::span<std::byte> to) {
  KW_TRY(auto bytes, memory.view(i));
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  return {};
}

}  // namespace

Status Oracle::offer(const TensorMemory& inputs, const TensorMemory* statics) {
  for (std::size_t i = 0; i < inputs.layout().count(); ++i)
    KW_TRY_STATUS(copy_tensor(inputs, i, input(i)));
  for (std::size_t i = 0; statics != nullptr && i < statics->layout().count(); ++i)
    KW_TRY_STATUS(copy_tensor(*statics, i, static_tensor(i)));
  return {};
}

}  // namespace kw::gym
