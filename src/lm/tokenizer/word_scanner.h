// Cuts text into words as the regular expressions of GPT-2, Qwen 2 to 3 and Llama 3 do, without a
// regular expression engine.
//
// Faster than PCRE2, and the same on every machine: what a letter is depends on the
// Unicode version, and these are the tables of HF `tokenizers` (unicode.h). That all three equal
// their expression is tested against PCRE2 and against HF.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace kw::lm {

enum class WordPattern { kGpt2, kQwen, kLlama3 };

// The expression as tokenizer.json has it.
std::string_view regex_of(WordPattern pattern);
// nullopt for any other expression.
std::optional<WordPattern> known_pattern(std::string_view regex);

// The end of the word that begins at `begin`, which is past it: the words cover the text. text must
// be UTF-8 and begin < text.size().
std::size_t word_end(WordPattern pattern, std::string_view text, std::size_t begin);

}  // namespace kw::lm
