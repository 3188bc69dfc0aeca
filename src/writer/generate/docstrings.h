// Docstrings as people write them: some help, some do not, and some mislead.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "writer/generate/argument_words.h"
#include "writer/generate/operators.h"

namespace kw::writer::generate {

// "a 2-d convolution (...), then ReLU": what the plan computes.
std::string words_of(const Plan& plan);

std::string words_of(const Step& step);

// Each is "" or a docstring with its quotes, indented by `indent` spaces, ending in a newline.
std::string class_docstring(const Plan& plan, const std::vector<ArgumentWords>& arguments,
                            Rng& rng);
std::string init_docstring(const std::vector<ArgumentWords>& arguments, Rng& rng);
std::string forward_docstring(const Plan& plan, const std::vector<std::string>& inputs, Rng& rng);

// Lines that have nothing to do with the problem, and descriptions of other operators.
std::span<const std::string_view> irrelevant_lines();
std::span<const std::string_view> misleading_words();

}  // namespace kw::writer::generate
