// Products as calls of the register-tiled kernel of product_support.
#pragma once
#include "writer/cpp/cpp_text.h"
#include "writer/cpp/cpp_tuning.h"

namespace kw::writer {

// Writes one matmul statement of the nest.
void write_product(const Product& product, const CppTuning& tuning, CppText& text);

}  // namespace kw::writer
