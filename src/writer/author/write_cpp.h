// The author's language cpp.
#pragma once
#include "writer/author/target.h"

namespace kw::writer {

// Sizes go by their names in problem.h, so that the file serves others too. The sizes of a window
// of up to 16 elements a dimension are numbers where it is unrolled, has one element or is a
// transposed convolution's, and a static_assert says so: a constant axis of a definition, of a
// module a size of its parameters.
Target cpp_target();

}  // namespace kw::writer
