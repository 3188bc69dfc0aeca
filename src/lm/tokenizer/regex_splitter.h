// A regular expression of a pre-tokenizer of type Split, through PCRE2: for expressions that
// word_scanner.h does not know.
//
// HF `tokenizers` reads them with Oniguruma. The two agree on what is accepted here, but for the
// Unicode version behind \p{...}, which is PCRE2's own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::lm {

class RegexSplitter {
 public:
  // kInvalidArgument for what is no expression, may match nothing, or means something else to
  // Oniguruma.
  static Result<RegexSplitter> make(std::string_view regex);
  RegexSplitter(RegexSplitter&&) noexcept;
  RegexSplitter& operator=(RegexSplitter&&) noexcept;
  ~RegexSplitter();

  // Calls piece for each match and each gap between matches, in order. text must be UTF-8.
  // kResourceExhausted when the expression needs too many steps on this text. Any number of threads
  // may call it.
  using Piece = std::function<void(std::string_view text, bool is_match)>;
  Status split(std::string_view text, const Piece& piece) const;

 private:
  struct Compiled;
  explicit RegexSplitter(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace kw::lm
