// What libraries throw, as errors.
#pragma once
#include <exception>
#include <new>

#include "base/result.h"

namespace kw::lm_program {

template <typename Action>
Status without_exceptions(Action action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted,
                "out of memory: lower --slots or --context, or take --dtype int8");
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInternal, "{}", e.what());
  }
}

}  // namespace kw::lm_program
