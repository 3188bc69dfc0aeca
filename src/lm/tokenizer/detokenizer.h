// Tokens to text while they are being generated, up to a stop string.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lm/tokenizer/tokenizer.h"

namespace kw::lm {

struct DetokenizerOptions {
  std::vector<std::string> stop;  // UTF-8, none empty, at most kMaxStops
  bool skip_special = true;       // special tokens add no text
};

// One for each generated text; one thread at a time. Put together, what push() and finish() return
// is the tokenizer's decode() of all tokens, cut before the first stop string.
//
// Text is held back while later tokens could change it: the first bytes of a character that is not
// complete, and what could be the beginning of a stop string. Of several stop strings the one that
// is complete first counts, and of those that end at the same character the longest; so how the
// text is cut into tokens makes no difference.
class Detokenizer {
 public:
  static constexpr std::size_t kMaxStops = 64;

  // tokenizer must live longer. kInvalidArgument for a stop string that is empty or no UTF-8.
  static Result<Detokenizer> make(const Tokenizer& tokenizer, DetokenizerOptions options = {});

  // The text that is certain now; "" for every token after a stop string was found.
  std::string push(TokenId id);
  // The text held back, at the end of generation. Bytes of a character that was never completed
  // are U+FFFD. No push() after it.
  std::string finish();

  // The stop string that was found, as an index of options.stop.
  std::optional<std::size_t> stopped_by() const { return stopped_by_; }

 private:
  Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options)
      : tokenizer_(&tokenizer), options_(std::move(options)), joiner_(tokenizer) {}
  void take_characters(bool at_end);
  std::string release(bool at_end);
  std::size_t possible_stop() const;

  const Tokenizer* tokenizer_;
  DetokenizerOptions options_;
  TokenJoiner joiner_;
  std::string bytes_;         // of a character that is not complete
  std::string text_;          // complete characters held back
  std::size_t searched_ = 0;  // of text_: no stop string ends here or before
  std::optional<std::size_t> stopped_by_;
};

}  // namespace kw::lm
