// Session: what one setup message gives an executor: mapped pages and buffers, the candidate's
// shared object, argument tables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/protocol.h"
#include "os/fd.h"
#include "os/memory.h"
#include "os/message.h"
#include "task/signature.h"

namespace kw::executor {

using CallFunction = void (*)(void* state, void* const* arguments);
using PrepareFunction = void* (*)(void* const* statics);

// Everything is mapped once; descriptors do not outlive open().
class Session {
 public:
  // kInvalidArgument for a message that no checker of ours sends.
  static Result<Session> open(os::Message message);

  // Writable for us alone through these; volatile so that every poll reads memory.
  volatile gym::ReplyPage& reply() { return *reinterpret_cast<gym::ReplyPage*>(reply_.data()); }
  const volatile gym::CommandPage& command() const {
    return *reinterpret_cast<const gym::CommandPage*>(command_.data());
  }

  int threads() const { return threads_; }
  bool has_prepare() const { return has_prepare_; }
  int source() const { return source_.get(); }
  void close_source() { source_.reset(); }

  // Read-only mappings: a write into one of them is the candidate's fault of writing its inputs.
  std::vector<std::span<std::byte>> read_only() const;

  // Pointers for kw_call: inputs, statics, outputs, axes. Valid until the next call of this
  // function. nullptr for a set that does not exist.
  void* const* arguments_of(std::uint32_t set);
  // Pointers for kw_prepare: statics, axes.
  std::vector<void*> prepare_arguments();

 private:
  Status take_descriptors(os::Message& message, const std::vector<std::string>& names);
  Status take_statics(const Json& offsets);
  void store_values();

  task::Signature signature_;
  os::Mapping command_, reply_, statics_;
  std::vector<os::Mapping> inputs_, outputs_;  // of each set
  std::vector<std::uint64_t> static_offsets_;
  std::vector<std::uint64_t>
      values_;  // scalars by input, then axes: 8 bytes each, as kw_call reads
  std::vector<void*> arguments_;
  os::UniqueFd source_;
  bool has_prepare_ = false;
  bool private_inputs_ = false;  // the candidate may write to them, and only it sees that
  int threads_ = 1;
};

}  // namespace kw::executor
