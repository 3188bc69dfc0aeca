// Tokens that are found in text before BPE: `added_tokens` of tokenizer.json, special ones among
// them.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/bpe.h"

namespace kw::lm {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      // left out of decoded text on request
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool single_word = false;  // not found beside a letter, digit, mark or underscore
  bool normalized = false;   // looked for in the normalised text, in its own normalised form
};

// Strings to be found, the leftmost first and of those the longest.
class TokenFinder {
 public:
  TokenFinder() : nodes_(1) {}
  void add(std::string_view text, std::size_t index);
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    std::size_t begin, end, index;
  };
  std::optional<Match> next(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::uint32_t>> children;  // sorted
    std::optional<std::size_t> index;
  };
  const Node* child(const Node& node, unsigned char byte) const;
  std::vector<Node> nodes_;  // 0 is the root
  std::array<bool, 256> first_{};
};

class AddedTokens {
 public:
  using Normalize = std::function<std::string(std::string_view)>;

  // Reads a list of objects with id, content and flags; a content given twice, or an id that the
  // vocabulary has for another text, is kInvalidArgument.
  static Result<AddedTokens> from_json(const Json* value, const std::string& where, const Bpe& bpe);
  // Reads `added_tokens_decoder` of tokenizer_config.json: an object from ids to the same objects.
  // Tokens that are there already must be the same ones.
  Status add_decoder(const Json& value, const std::string& where, const Bpe& bpe);
  // Before the first split: normalized tokens are looked for in their normalised form.
  void prepare(const Normalize& normalize);

  // A piece of text, or a token where token is not null.
  using Visit = std::function<void(std::string_view text, const AddedToken* token)>;
  // Cuts text at the tokens that are (or are not) `normalized`. parse_special false: special ones
  // are text.
  void split(std::string_view text, bool normalized, bool parse_special, const Visit& visit) const;
  bool has(bool normalized) const { return !(normalized ? normalized_ : raw_).empty(); }

  const std::vector<AddedToken>& all() const { return tokens_; }
  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(TokenId id) const;

 private:
  Status add(AddedToken token, const std::string& where, const Bpe& bpe);
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, std::size_t> by_content_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  TokenFinder raw_, normalized_;
};

}  // namespace kw::lm
