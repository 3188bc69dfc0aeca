// The register-tiled product kernel that generated sources contain: kw_product(), its operands
// kw_strided and kw_gathered. It needs <algorithm>, <cstdint>, <cstring>, <utility> and <vector>.
#pragma once
#include <string_view>

namespace kw::writer {

std::string_view product_support();

}  // namespace kw::writer
