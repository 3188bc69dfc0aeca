// The same random calls on a table over memory and on one over another storage, both cut off and
// opened again at random moments: what each engine of the service must pass.
#pragma once
#include <functional>
#include <memory>

#include "service/task_storage.h"

namespace kw::service {

using OpenStorage = std::function<std::unique_ptr<TaskStorage>()>;

// open: the same rows each time, after the storage before has been destroyed; none at first. After
// a cut, what was not committed is gone from both. Failures are GoogleTest's.
void agree_through_cuts(unsigned seed, const OpenStorage& open);

}  // namespace kw::service
