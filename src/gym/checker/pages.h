// The two pages of one executor: orders, which only the checker writes, and replies, which it
// trusts in nothing.
#pragma once
#include "base/result.h"
#include "gym/protocol.h"
#include "os/memory.h"

namespace kw::gym {

// Belongs to the checker; the executor gets the descriptors.
struct Pages {
  static Result<Pages> make();
  CommandPage& command() { return *reinterpret_cast<CommandPage*>(command_mapping.data()); }
  volatile ReplyPage& reply() {
    return *reinterpret_cast<volatile ReplyPage*>(reply_mapping.data());
  }

  os::UniqueFd command_fd, reply_fd;
  os::Mapping command_mapping, reply_mapping;
};

}  // namespace kw::gym
