// A byte trie finds the tokens; their flags decide what a find takes with it, in the order and with
// the corner cases of HF.
#include "lm/tokenizer/added_tokens.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::size_t kMaxContent = 1000;

Result<AddedToken> token_from(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  AddedToken out;
  KW_TRY(out.content, reader.string("content"));
  if (out.content.empty() || out.content.size() > kMaxContent)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to {} bytes", reader.path("content"),
                kMaxContent);
  KW_TRY(out.special, reader.boolean_or("special", false));
  KW_TRY(out.lstrip, reader.boolean_or("lstrip", false));
  KW_TRY(out.rstrip, reader.boolean_or("rstrip", false));
  KW_TRY(out.single_word, reader.boolean_or("single_word", false));
  KW_TRY(out.normalized, reader.boolean_or("normalized", !out.special));
  return out;
}

// The last character before `end`; length 0 at the front of the text.
Utf8Character character_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && end - begin < 4) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xC0) != 0x80) break;
  }
  return read_utf8(text.substr(begin, end - begin));
}

bool is(Utf8Character c, CharacterClass wanted) {
  return c.length > 0 && (class_of(c.code) & wanted) != 0;
}

std::size_t before_space(std::string_view text, std::size_t end) {
  for (Utf8Character c = character_before(text, end); is(c, kSpace);
       c = character_before(text, end))
    end -= c.length;
  return end;
}

std::size_t behind_space(std::string_view text, std::size_t begin) {
  for (Utf8Character c = read_utf8(text.substr(begin)); is(c, kSpace);
       c = read_utf8(text.substr(begin)))
    begin += c.length;
  return begin;
}

}  // namespace

void TokenFinder::add(std::string_view text, std::size_t index) {
  if (text.empty()) return;
  first_[static_cast<unsigned char>(text[0])] = true;
  std::uint32_t at = 0;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    auto& children = nodes_[at].children;
    auto place = std::lower_bound(children.begin(), children.end(), std::pair(byte, 0U));
    if (place == children.end() || place->first != byte) {
      auto made = static_cast<std::uint32_t>(nodes_.size());
      children.insert(place, {byte, made});
      nodes_.emplace_back();
      at = made;
    } else {
      at = place->second;
    }
  }
  if (!nodes_[at].index) nodes_[at].index = index;
}

const TokenFinder::Node* TokenFinder::child(const Node& node, unsigned char byte) const {
  auto place = std::lower_bound(node.children.begin(), node.children.end(), std::pair(byte, 0U));
  return place == node.children.end() || place->first != byte ? nullptr : &nodes_[place->second];
}

std::optional<TokenFinder::Match> TokenFinder::next(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!first_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<Match> longest;
    const Node* node = &nodes_[0];
    for (std::size_t at = begin; at < text.size(); ++at) {
      node = child(*node, static_cast<unsigned char>(text[at]));
      if (node == nullptr) break;
      if (node->index) longest = Match{begin, at + 1, *node->index};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

Status AddedTokens::add(AddedToken token, const std::string& where, const Bpe& bpe) {
  auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, "{}: {}", where, what);
  };
  std::string shown = printable(token.content, 80);
  if (find(token.content) != nullptr) return bad(fmt::format("\"{}\" is there twice", shown));
  if (find(token.id) != nullptr)
    return bad(fmt::format("id {} is given to \"{}\" too", token.id,
                           printable(find(token.id)->content, 80)));
  auto known = bpe.id_of(token.content);
  if (known && *known != token.id)
    return bad(fmt::format("id {}, but the vocabulary has {} for \"{}\"", token.id, *known, shown));
  auto at = static_cast<std::size_t>(token.id);
  if (!known && at < bpe.tokens().size() && !bpe.tokens()[at].empty())
    return bad(fmt::format("id {} is \"{}\" in the vocabulary", token.id,
                           printable(bpe.tokens()[at], 80)));
  by_content_.emplace(token.content, tokens_.size());
  by_id_.emplace(token.id, tokens_.size());
  tokens_.push_back(std::move(token));
  return {};
}

Result<AddedTokens> AddedTokens::from_json(const Json* value, const std::string& where,
                                           const Bpe& bpe) {
  AddedTokens out;
  if (value == nullptr) return out;
  if (!value->is_array()) return fail(ErrorCode::kInvalidArgument, "{}: expected a list", where);
  for (std::size_t at = 0; at < value->size(); ++at) {
    std::string here = fmt::format("{}[{}]", where, at);
    KW_TRY(AddedToken token, token_from((*value)[at], here));
    KW_TRY(ObjectReader reader, ObjectReader::make((*value)[at], here));
    KW_TRY(std::int64_t id, reader.integer("id"));
    if (id < 0 || id > kMaxTokenId)
      return fail(ErrorCode::kInvalidArgument, "{}.id: expected 0 to {}", here, kMaxTokenId);
    token.id = static_cast<TokenId>(id);
    KW_TRY_STATUS(out.add(std::move(token), here, bpe));
  }
  return out;
}

Status AddedTokens::add_decoder(const Json& value, const std::string& where, const Bpe& bpe) {
  if (!value.is_object()) return fail(ErrorCode::kInvalidArgument, "{}: expected an object", where);
  for (const auto& [key, item] : value.items()) {
    std::string here = fmt::format("{}.{}", where, printable(key, 40));
    KW_TRY(AddedToken token, token_from(item, here));
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (error != std::errc() || end != key.data() + key.size() || token.id < 0 ||
        token.id > kMaxTokenId)
      return fail(ErrorCode::kInvalidArgument, "{}: the key is no id", here);
    const AddedToken* known = find(token.content);
    if (known != nullptr && known->id == token.id) continue;
    KW_TRY_STATUS(add(std::move(token), here, bpe));
  }
  return {};
}

void AddedTokens::prepare(const Normalize& normalize) {
  for (std::size_t at = 0; at < tokens_.size(); ++at) {
    if (tokens_[at].normalized)
      normalized_.add(normalize(tokens_[at].content), at);
    else
      raw_.add(tokens_[at].content, at);
  }
}

void AddedTokens::split(std::string_view text, bool normalized, bool parse_special,
                        const Visit& visit) const {
  const TokenFinder& finder = normalized ? normalized_ : raw_;
  std::size_t done = 0;
  std::size_t from = 0;
  while (auto match = finder.empty() ? std::nullopt : finder.next(text, from)) {
    const AddedToken& token = tokens_[match->index];
    from = match->end;
    if (token.special && !parse_special) continue;
    if (token.single_word && (is(character_before(text, match->begin), kWord) ||
                              is(read_utf8(text.substr(match->end)), kWord)))
      continue;
    std::size_t begin = match->begin;
    if (token.lstrip) begin = std::max(before_space(text, begin), done);
    if (begin > done) visit(text.substr(done, begin - done), nullptr);
    visit(token.content, &token);
    done = token.rstrip ? behind_space(text, match->end) : match->end;
  }
  if (done < text.size()) visit(text.substr(done), nullptr);
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(TokenId id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace kw::lm
