// Tokens to text: `decoder` of tokenizer.json.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/normalizer.h"

namespace kw::lm {

// TokenDecoder puts together what the tokens of one text add, in their order.
class TokenDecoder {
 public:
  // Reads ByteLevel (behind a ByteLevel pre-tokenizer only); for the others Metaspace, or a
  // Sequence of Replace (of strings), ByteFallback, Fuse and Strip (at the left), in this order.
  // kUnsupported names the key below `where`.
  static Result<TokenDecoder> from_json(const Json* value, const std::string& where,
                                        bool byte_level);

  // The bytes that a token adds; those of "<0x0A>" with ByteFallback are one byte.
  std::string bytes_of(std::string_view token) const;
  // "<0x0A>" with ByteFallback.
  bool is_byte(std::string_view token) const { return byte_value(token).has_value(); }
  // What it adds where it is the text's first one.
  std::string first_bytes_of(std::string_view token) const;
  // So many spaces are left out at the beginning of a text.
  std::size_t leading_spaces_cut() const { return cut_spaces_; }
  // Whether the bytes of a text are other than those of its tokens one after the other.
  bool depends_on_place() const { return byte_fallback_ || cut_spaces_ > 0 || cut_first_; }

 private:
  Status read_sequence(ObjectReader& reader);
  Status read_step(ObjectReader& reader, const std::string& type);
  std::optional<std::uint8_t> byte_value(std::string_view token) const;

  bool byte_level_ = true;
  std::vector<Replacement> replaced_;
  bool byte_fallback_ = false, fused_ = false;
  std::size_t cut_spaces_ = 0;
  bool cut_first_ = false;  // Metaspace: the first token loses its replacement characters
};

class Tokenizer;

// Puts the tokens of one text together. Bytes of "<0xNN>" tokens come when their run ends: one that
// is no UTF-8 is U+FFFD for each byte, as HF has it.
class TokenJoiner {
 public:
  explicit TokenJoiner(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // Appends the bytes that are certain now.
  void push(std::int32_t id, std::string& out);
  // Appends what is left, at the end of the text.
  void finish(std::string& out);

 private:
  void end_run(std::string& out);
  void append(std::string_view bytes, std::string& out);

  const Tokenizer* tokenizer_;
  std::string run_;  // bytes of a run of byte tokens
  bool first_ = true;
  std::size_t cut_ = 0;  // leading spaces that were left out
  bool cutting_ = true;  // nothing but these came
};

}  // namespace kw::lm
