// Cuts normalised text into the words that BPE works on: `pre_tokenizer` of tokenizer.json.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/regex_splitter.h"
#include "lm/tokenizer/split_behavior.h"
#include "lm/tokenizer/word_scanner.h"

namespace kw::lm {

class PreTokenizer {
 public:
  // Makes the one that our own trainer writes: one Split, then ByteLevel without an expression.
  explicit PreTokenizer(WordPattern pattern) : byte_level_(true) { steps_.emplace_back(pattern); }

  // Reads Split, Digits, Metaspace, ByteLevel, and a Sequence of these, in which ByteLevel is the
  // last; nullptr: the text is one word. Errors name the key below `where`.
  static Result<PreTokenizer> from_json(const Json* value, const std::string& where);

  // Calls word for each word, in order. text must be UTF-8; words are UTF-8 (bytes, not GPT-2's
  // characters for them), valid during the call. at_start: the text begins where the user's does.
  // kResourceExhausted when a regular expression of the file needs too many steps.
  Status split(std::string_view text, bool at_start,
               const std::function<void(std::string_view)>& word) const;

  // BPE works on bytes.
  bool is_byte_level() const { return byte_level_; }

 private:
  struct PrefixSpace {};  // a space is put before a piece that does not begin with one
  struct Pattern {
    std::variant<WordPattern, RegexSplitter, std::string> pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };
  struct Digits {
    bool individual = false;
  };
  enum class Prepend { kAlways, kFirst, kNever };
  struct Metaspace {
    std::string replacement;
    Prepend prepend = Prepend::kAlways;
    bool split = true;
  };
  using Step = std::variant<WordPattern, PrefixSpace, Pattern, Digits, Metaspace>;
  using Word = std::function<void(std::string_view)>;

  PreTokenizer() = default;
  Status read(const Json& value, const std::string& where, int depth);
  Status read_sequence(ObjectReader& reader, int depth);
  Status read_split(ObjectReader& reader);
  Status read_metaspace(ObjectReader& reader);
  Result<std::vector<TextSpan>> pieces_of(const Pattern& step, std::string_view text) const;
  static std::string with_metaspace(const Metaspace& step, std::string_view text, bool at_start);
  Status split_from(std::size_t step, std::string_view text, bool at_start, const Word& word) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;  // the last one read was ByteLevel
};

}  // namespace kw::lm
