// Encoding and decoding; tokenizer_json.cc reads the files.
#include "lm/tokenizer/tokenizer.h"

#include <mutex>

#include "lm/tokenizer/caches.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {

Tokenizer::Tokenizer(Bpe bpe, PreTokenizer pretokenizer)
    : bpe_(std::move(bpe)),
      pretokenizer_(std::move(pretokenizer)),
      caches_(std::make_unique<Caches>()) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

void Tokenizer::finish() {
  added_.prepare([this](std::string_view text) { return normalizer_.run(text); });
  std::size_t size = bpe_.tokens().size();
  for (const AddedToken& token : added_.all())
    size = std::max(size, static_cast<std::size_t>(token.id) + 1);
  bytes_.resize(size);
  special_.resize(size);
  for (std::size_t id = 0; id < bpe_.tokens().size(); ++id)
    bytes_[id] = decoder_.bytes_of(bpe_.tokens()[id]);
  for (const AddedToken& token : added_.all()) {
    auto id = static_cast<std::size_t>(token.id);
    bytes_[id] =
        decoder_.bytes_of(token.normalized ? normalizer_.run(token.content) : token.content);
    special_[id] = token.special;
  }
}

Status Tokenizer::encode_text(std::string_view text, bool parse_special, WordCache& cache,
                              std::vector<TokenId>& out) const {
  Status status;
  auto words = [&](std::string_view piece, bool at_start) {
    if (status)
      status = pretokenizer_.split(piece, at_start,
                                   [&](std::string_view word) { bpe_.encode(word, cache, out); });
  };
  auto normalized = [&](std::string_view piece, bool at_start) {
    if (!added_.has(true)) return words(piece, at_start);
    added_.split(piece, true, parse_special, [&](std::string_view part, const AddedToken* token) {
      if (token != nullptr)
        out.push_back(token->id);
      else
        words(part, at_start && part.data() == piece.data());
    });
  };
  // Only the pieces between tokens are normalised.
  added_.split(text, false, parse_special, [&](std::string_view piece, const AddedToken* token) {
    const bool at_start = piece.data() == text.data();
    if (token != nullptr)
      out.push_back(token->id);
    else if (normalizer_.may_change(piece))
      normalized(normalizer_.run(piece), at_start);
    else
      normalized(piece, at_start);
  });
  return status;
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = to_valid_utf8(text);
    text = repaired;
  }
  std::vector<TokenId> out;
  out.reserve(text.size() / 3 + prefix_.size() + suffix_.size());
  if (options.add_special) out = prefix_;
  auto cache = caches_->borrow();
  KW_TRY_STATUS(encode_text(text, options.parse_special, *cache, out));
  if (options.add_special) out.insert(out.end(), suffix_.begin(), suffix_.end());
  return out;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  TokenJoiner joiner(*this);
  for (TokenId id : ids) {
    if (!(skip_special && is_special(id))) joiner.push(id, out);
  }
  joiner.finish(out);
  return is_utf8(out) ? out : to_valid_utf8(out);
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= bytes_.size()) return {};
  return bytes_[static_cast<std::size_t>(id)];
}

std::string_view Tokenizer::token_text(TokenId id) const {
  if (const AddedToken* added = added_.find(id)) return added->content;
  if (id < 0 || static_cast<std::size_t>(id) >= bpe_.tokens().size()) return {};
  return bpe_.tokens()[static_cast<std::size_t>(id)];
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < special_.size() &&
         special_[static_cast<std::size_t>(id)];
}

std::optional<TokenId> Tokenizer::token_id(std::string_view token) const {
  if (const AddedToken* added = added_.find(token)) return added->id;
  return bpe_.id_of(token);
}

}  // namespace kw::lm
