// The register-tiled product kernel that generated sources contain: kw_product(), its operands
// kw_strided and kw_gathered. It stands behind vector_support() and needs <algorithm>, <cstdint>,
// <cstring>, <utility> and <vector>.
#pragma once
#include <string>

#include "writer/cpp/cpp_tuning.h"

namespace kw::writer {

std::string product_support(const CppTuning& tuning);

}  // namespace kw::writer
