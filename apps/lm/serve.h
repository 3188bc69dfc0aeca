// The command serve: a model for the program at the other end of a socket.
#pragma once
#include "base/json.h"

namespace kw::lm_program {

// settings: what kernelwright serve-model hands over (apps/kernelwright/model/serve_model.cc).
// Errors are told over the socket. Returns the exit code.
int serve(const Json& settings);

}  // namespace kw::lm_program
