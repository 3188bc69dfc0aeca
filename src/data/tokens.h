// Source code as tokens, in Python and in the C family, without parsing it. That is enough to
// compare programs without regard to names, comments and layout.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::data {

enum class Syntax { kPython, kC };

struct Token {
  enum class Kind { kName, kNumber, kText, kSign };
  Kind kind;
  std::string_view text;  // part of the source
};

// The tokens without comments, line ends and docstrings (texts that are statements of their own).
// They refer to the source. Linear time. A character that cannot be read is a kSign of one byte.
std::vector<Token> tokens_of(std::string_view source, Syntax syntax);

// The tokens with every name that the source itself binds (functions, classes, parameters,
// variables, attributes of self) replaced by its number in order of first use: renaming leaves
// them the same, another operator does not.
std::vector<std::string> normalised(std::string_view source, Syntax syntax);

// 128 bits over normalised(): 32 hex digits.
std::string normalised_digest(const std::vector<std::string>& tokens);

// Hashes of all runs of `length` tokens, sorted, each once; one hash of all when there are fewer.
std::vector<std::uint64_t> shingles(const std::vector<std::string>& tokens, std::size_t length);

}  // namespace kw::data
