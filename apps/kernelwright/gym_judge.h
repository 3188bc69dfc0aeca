// The real gym behind the Judge interface.
#pragma once
#include <memory>

#include "kernelwright/services.h"

namespace kw::front {

Result<std::unique_ptr<Judge>> start_gym_judge(gym::GymOptions options);

}  // namespace kw::front
