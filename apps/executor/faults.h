// Reports a memory fault of the candidate on the reply page before it kills the process.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "gym/protocol.h"

namespace kw::executor {

// For SIGSEGV and SIGBUS of any thread, on a stack of its own on the calling one: fault_signal,
// fault_address and fault_on_input (the address lies in one of `read_only`) are written, then the
// default action ends the process. `reply` must stay mapped. Once per process.
void report_faults(volatile gym::ReplyPage& reply,
                   const std::vector<std::span<std::byte>>& read_only);

}  // namespace kw::executor
