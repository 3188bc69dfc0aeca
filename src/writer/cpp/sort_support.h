// Sorts of one row that generated sources contain: kw_sort_keys for elements of up to 4 bytes,
// kw_sort_values for others. They need <algorithm>, <bit>, <cstdint> and <vector>.
#pragma once
#include <string_view>

namespace kw::writer {

std::string_view sort_support(std::string_view function);

}  // namespace kw::writer
