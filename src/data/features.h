// The features by which two samples are compared.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/sample.h"
#include "data/tokens.h"
#include "task/candidate.h"

namespace kw::data {

enum class ComparedBy { kProblem, kAnswer, kBoth };

inline constexpr std::size_t kShingle = 8;  // tokens

Syntax syntax_of(std::string_view language);  // from a language's name or a fence's tag

// The code of a text in a chat, block by block; its words in lower case where it has no block.
std::vector<std::string> text_tokens(std::string_view text, std::string_view language);

// The problem's source: a module's Python, a definition's reference. Without a problem what the
// user wrote, as text_tokens().
std::vector<std::string> problem_tokens(const Sample& sample);

struct Features {
  std::string digest;                   // equal for samples that differ only in names and layout
  std::vector<std::uint64_t> shingles;  // sorted, of kShingle tokens
};
// The words of a sample without a problem count beside its code.
Features features_of(const Sample& sample, ComparedBy by);

}  // namespace kw::data
