// The author's language triton.
#pragma once
#include "writer/author/target.h"

namespace kw::writer {

// ModelNew for a module, run() that returns its outputs for a definition.
Target triton_target();

}  // namespace kw::writer
