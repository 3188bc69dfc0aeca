// What people write above and beside code: descriptions that help, that do not, and that mislead.
#pragma once
#include <string>
#include <vector>

#include "writer/generate/operators.h"

namespace kw::writer::generate {

// "a 2-d convolution (...), then ReLU": what the plan computes.
std::string words_of(const Plan& plan);

std::string words_of(const Step& step);

// Each is "" or a docstring with its quotes, indented by `indent` spaces, ending in a newline.
std::string class_docstring(const Plan& plan, const std::vector<std::string>& arguments, Rng& rng);
std::string init_docstring(const std::vector<std::string>& arguments, Rng& rng);
std::string forward_docstring(const Plan& plan, const std::vector<std::string>& inputs, Rng& rng);

}  // namespace kw::writer::generate
