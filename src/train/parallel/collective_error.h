// CollectiveError: a collective that did not end, because another rank is gone or took longer than
// the time limit. It flies to the boundary of the run (without_exceptions), and the Group knows the
// reason.
#pragma once
#include <stdexcept>

namespace kw::train {

struct CollectiveError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace kw::train
