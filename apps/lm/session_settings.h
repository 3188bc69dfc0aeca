// What commands that load a model are told about it, as JSON.
#pragma once
#include "base/json.h"
#include "base/result.h"
#include "model_session.h"

namespace kw::lm_program {

// "model", and "device", "dtype", "matmuls", "threads" and "slots" where they are given.
Status read_session_options(ObjectReader& reader, SessionOptions& options);

}  // namespace kw::lm_program
