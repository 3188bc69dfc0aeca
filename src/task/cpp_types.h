// C++ text of the element types that neither GCC 12 nor the standard library has.
#pragma once
#include <string_view>

#include "tensor/dtype.h"

namespace kw::task {

// The struct behind cpp_type(dtype), for problem.h; empty for types that the compiler knows. It has
// the element's size, converts from and to float (round to nearest, ties to even, as torch does),
// and needs <stdint.h>.
std::string_view cpp_type_definition(tensor::DType dtype);

}  // namespace kw::task
