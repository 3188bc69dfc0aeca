// The author's language cpp.
#pragma once
#include "writer/author/target.h"

namespace kw::writer {

// Sizes go by their names in problem.h, so that the file serves other sizes too. Only the sizes of
// a window of up to 16 elements a dimension may be numbers: where the window is unrolled, has one
// element, or belongs to a transposed convolution. They come from a constant axis of a definition
// or a module's parameter sizes, and a static_assert checks them.
Target cpp_target();

}  // namespace kw::writer
