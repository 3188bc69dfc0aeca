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
#include "lm/tokenizer/word_scanner.h"

namespace kw::lm {

class PreTokenizer {
 public:
  // What our own trainer writes: one Split, then ByteLevel without an expression.
  explicit PreTokenizer(WordPattern pattern) { steps_.push_back(Step{false, pattern}); }

  // Reads Split (Regex, Isolated), ByteLevel, and a Sequence of these that ends in ByteLevel.
  // Errors name the key below `where`.
  static Result<PreTokenizer> from_json(const Json& value, const std::string& where);

  // Calls word for each word, in order. text must be UTF-8; words are UTF-8 (bytes, not GPT-2's
  // characters for them), valid during the call. kResourceExhausted when a regular expression of
  // the file needs too many steps.
  Status split(std::string_view text, const std::function<void(std::string_view)>& word) const;

 private:
  struct Step {
    bool prefix_space = false;  // a space is put before a piece that does not begin with one
    std::variant<std::monostate, WordPattern, RegexSplitter> cut;
  };
  PreTokenizer() = default;
  Status read(const Json& value, const std::string& where, int depth);
  Status read_split(ObjectReader& reader);
  Status split_from(std::size_t step, std::string_view text,
                    const std::function<void(std::string_view)>& word) const;

  std::vector<Step> steps_;
  bool byte_level_ = false;  // the last one read was ByteLevel
};

}  // namespace kw::lm
