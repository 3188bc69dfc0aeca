// Of all pairs that have a merge the one of lowest rank is merged first, the leftmost among equals,
// until none is left.
#include "lm/tokenizer/bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <queue>
#include <utility>

#include "base/text.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
// Up to this many bytes all pairs are looked through for each merge; above it a queue keeps the
// time n log n.
constexpr std::size_t kShortWord = 96;

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
         static_cast<std::uint32_t>(right);
}

std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = word.size() * kMix;
  while (!word.empty()) {
    std::uint64_t block = 0;
    std::size_t bytes = std::min<std::size_t>(word.size(), 8);
    std::memcpy(&block, word.data(), bytes);
    hash = (hash ^ block) * kMix;
    hash ^= hash >> 32U;
    word.remove_prefix(bytes);
  }
  return hash * kMix;
}

// A merge is "left right" or ["left", "right"].
std::optional<std::pair<std::string, std::string>> parts_of(const Json& merge) {
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    auto at = text.find(' ');
    if (at == std::string::npos || text.find(' ', at + 1) != std::string::npos) return std::nullopt;
    return std::pair(text.substr(0, at), text.substr(at + 1));
  }
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  return std::nullopt;
}

// Options that change the tokens and that the models we know leave at their defaults.
Status refuse_other_options(ObjectReader& reader) {
  for (std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    KW_TRY(std::string affix, reader.string_or(key, ""));
    if (!affix.empty())
      return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read", reader.path(key),
                  printable(affix, 40));
  }
  KW_TRY(double dropout, reader.number_or("dropout", 0));
  if (dropout != 0)
    return fail(ErrorCode::kUnsupported, "{}: encoding at random is not read",
                reader.path("dropout"));
  return {};
}

}  // namespace

WordCache::Slot& WordCache::slot_of(std::string_view word) {
  return slots_[hash_of(word) >> (64U - std::countr_zero(kSlots))];
}

void Bpe::MergeTable::reserve(std::size_t merges) {
  std::size_t rows = std::bit_ceil(std::max<std::size_t>(merges * 2, 16));
  rows_.assign(rows, Row{});
  shift_ = 64 - std::countr_zero(rows);
}

std::size_t Bpe::MergeTable::place(std::uint64_t key) const {
  std::size_t at = (key * kMix) >> shift_;
  while (rows_[at].key != key && rows_[at].key != kEmpty) at = (at + 1) & (rows_.size() - 1);
  return at;
}

void Bpe::MergeTable::put(TokenId left, TokenId right, Merge merge) {
  std::uint64_t key = pair_key(left, right);
  rows_[place(key)] = Row{key, merge};
}

Bpe::Merge Bpe::MergeTable::find(TokenId left, TokenId right) const {
  const Row& row = rows_[place(pair_key(left, right))];
  return row.key == kEmpty ? Merge{kNoRank, 0} : row.merge;
}

Status Bpe::read_vocab(const Json& value, const std::string& where) {
  if (!value.is_object() || value.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: expected an object of tokens", where);
  ids_.reserve(value.size());
  for (const auto& [token, id] : value.items()) {
    std::int64_t number = id.is_number_integer() ? id.get<std::int64_t>() : -1;
    if (number < 0 || number > kMaxTokenId)
      return fail(ErrorCode::kInvalidArgument, "{}.{}: expected an id from 0 to {}", where,
                  printable(token, 60), kMaxTokenId);
    if (token.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: id {} has no text", where, number);
    auto at = static_cast<std::size_t>(number);
    if (at >= tokens_.size()) tokens_.resize(at + 1);
    if (!tokens_[at].empty())
      return fail(ErrorCode::kInvalidArgument, "{}: id {} is given to \"{}\" and \"{}\"", where,
                  number, printable(tokens_[at], 60), printable(token, 60));
    tokens_[at] = token;
    ids_.emplace(token, static_cast<TokenId>(number));
  }
  return {};
}

void Bpe::find_bytes() {
  byte_ids_.assign(256, kNoToken);
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string text = symbols_ == BpeSymbols::kCharacters
                           ? fmt::format("<0x{:02X}>", byte)
                           : to_byte_level(std::string(1, static_cast<char>(byte)));
    byte_ids_[byte] = id_of(text).value_or(kNoToken);
  }
  all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), kNoToken) == byte_ids_.end();
}

Status Bpe::read_unknown(ObjectReader& reader) {
  KW_TRY(std::string token, reader.string_or("unk_token", ""));
  KW_TRY(fuse_unknown_, reader.boolean_or("fuse_unk", false));
  KW_TRY(byte_fallback_, reader.boolean_or("byte_fallback", false));
  if (byte_fallback_ && symbols_ == BpeSymbols::kBytes)
    return fail(ErrorCode::kUnsupported, "{}: not read behind a ByteLevel pre-tokenizer",
                reader.path("byte_fallback"));
  if (symbols_ == BpeSymbols::kBytes && all_bytes_) return {};
  if (token.empty()) return {};
  auto id = id_of(token);
  if (!id)
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not in the vocabulary",
                reader.path("unk_token"), printable(token, 80));
  unknown_ = *id;
  return {};
}

Status Bpe::read_merges(const Json& value, const std::string& where) {
  if (!value.is_array()) return fail(ErrorCode::kInvalidArgument, "{}: expected a list", where);
  merges_.reserve(value.size());
  std::uint32_t rank = 0;
  for (const Json& merge : value) {
    auto bad = [&](std::string_view what) {
      return fail(ErrorCode::kInvalidArgument, "{}[{}]: {}", where, rank, what);
    };
    auto parts = parts_of(merge);
    if (!parts) return bad("expected \"left right\" or [\"left\", \"right\"]");
    auto known = [&](const std::string& text) -> Result<TokenId> {
      if (auto id = id_of(text)) return *id;
      return bad(fmt::format("\"{}\" is not in the vocabulary", printable(text, 80)));
    };
    KW_TRY(TokenId left, known(parts->first));
    KW_TRY(TokenId right, known(parts->second));
    KW_TRY(TokenId whole, known(parts->first + parts->second));
    merges_.put(left, right, Merge{rank++, whole});
  }
  return {};
}

Result<Bpe> Bpe::from_json(const Json& value, const std::string& where, BpeSymbols symbols) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::string type, reader.string_or("type", "BPE"));
  if (type != "BPE")
    return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read, only BPE", reader.path("type"),
                printable(type, 40));
  KW_TRY_STATUS(refuse_other_options(reader));
  Bpe out;
  out.symbols_ = symbols;
  KW_TRY(out.ignore_merges_, reader.boolean_or("ignore_merges", false));
  KW_TRY(const Json* vocab, reader.get("vocab"));
  KW_TRY_STATUS(out.read_vocab(*vocab, reader.path("vocab")));
  out.find_bytes();
  KW_TRY_STATUS(out.read_unknown(reader));
  KW_TRY(const Json* merges, reader.get("merges"));
  KW_TRY_STATUS(out.read_merges(*merges, reader.path("merges")));
  if (out.ignore_merges_) {
    for (const auto& [token, id] : out.ids_) {
      if (symbols == BpeSymbols::kCharacters)
        out.words_.emplace(token, id);
      else if (auto bytes = from_byte_level(token))
        out.words_.emplace(std::move(*bytes), id);
    }
  }
  return out;
}

std::optional<TokenId> Bpe::id_of(std::string_view token) const {
  auto found = ids_.find(std::string(token));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void Bpe::encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const {
  if (word.size() > WordCache::kMaxWord || word.empty()) return encode(word, out);
  WordCache::Slot& slot = cache.slot_of(word);
  if (slot.length == word.size() && std::memcmp(slot.word, word.data(), word.size()) == 0) {
    out.insert(out.end(), slot.ids, slot.ids + slot.count);
    return;
  }
  std::size_t before = out.size();
  encode(word, out);
  std::size_t count = out.size() - before;
  if (count > WordCache::kMaxIds) return;
  std::memcpy(slot.word, word.data(), word.size());
  slot.length = static_cast<std::uint8_t>(word.size());
  slot.count = static_cast<std::uint8_t>(count);
  std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(before), count, slot.ids);
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& out) const {
  if (ignore_merges_) {
    if (auto found = words_.find(std::string(word)); found != words_.end()) {
      out.push_back(found->second);
      return;
    }
  }
  if (word.size() <= kShortWord)
    merge_short(word, out);
  else
    merge_long(word, out);
}

// A symbol that has no token but whose bytes have may stand before unknown ones that came earlier:
// HF writes these when the next known symbol comes.
std::size_t Bpe::symbols_of(std::string_view word, TokenId* out) const {
  std::size_t count = 0;
  if (symbols_ == BpeSymbols::kBytes && all_bytes_) {
    for (char byte : word) out[count++] = byte_ids_[static_cast<unsigned char>(byte)];
    return count;
  }
  bool waiting = false;  // an unknown symbol that is not written yet
  while (!word.empty()) {
    const std::size_t length = symbols_ == BpeSymbols::kBytes ? 1 : read_utf8(word).length;
    std::string_view symbol = word.substr(0, length);
    word.remove_prefix(length);
    TokenId id = symbols_ == BpeSymbols::kBytes ? byte_ids_[static_cast<unsigned char>(symbol[0])]
                                                : id_of(symbol).value_or(kNoToken);
    if (id != kNoToken) {
      if (std::exchange(waiting, false)) out[count++] = unknown_;
      out[count++] = id;
      continue;
    }
    auto has_token = [&](char byte) {
      return byte_ids_[static_cast<unsigned char>(byte)] != kNoToken;
    };
    if (byte_fallback_ && std::all_of(symbol.begin(), symbol.end(), has_token)) {
      for (char byte : symbol) out[count++] = byte_ids_[static_cast<unsigned char>(byte)];
      continue;
    }
    if (unknown_ == kNoToken) continue;
    if (waiting && !fuse_unknown_) out[count++] = unknown_;
    waiting = true;
  }
  if (waiting) out[count++] = unknown_;
  return count;
}

void Bpe::merge_short(std::string_view word, std::vector<TokenId>& out) const {
  std::array<TokenId, kShortWord> ids;
  std::array<Merge, kShortWord> merges;  // of each token with the next
  std::size_t count = symbols_of(word, ids.data());
  for (std::size_t at = 0; at + 1 < count; ++at) merges[at] = merges_.find(ids[at], ids[at + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t at = 1; at + 1 < count; ++at) {
      if (merges[at].rank < merges[best].rank) best = at;
    }
    if (merges[best].rank == kNoRank) break;
    ids[best] = merges[best].id;
    std::copy(ids.begin() + best + 2, ids.begin() + count, ids.begin() + best + 1);
    if (best + 2 < count)
      std::copy(merges.begin() + best + 2, merges.begin() + count - 1, merges.begin() + best + 1);
    --count;
    if (best + 1 < count) merges[best] = merges_.find(ids[best], ids[best + 1]);
    if (best > 0) merges[best - 1] = merges_.find(ids[best - 1], ids[best]);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + count);
}

void Bpe::merge_long(std::string_view word, std::vector<TokenId>& out) const {
  constexpr std::size_t kNone = SIZE_MAX;
  struct Symbol {
    TokenId id;
    std::size_t before, after;
    bool alive = true;
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t at;
    TokenId left, right, whole;
    bool operator<(const Candidate& other) const {
      return std::pair(rank, at) > std::pair(other.rank, other.at);  // smallest first
    }
  };
  std::vector<TokenId> ids(word.size());
  const std::size_t count = symbols_of(word, ids.data());
  std::vector<Symbol> symbols(count);
  std::priority_queue<Candidate> queue;
  auto consider = [&](std::size_t at) {
    if (at == kNone || symbols[at].after == kNone) return;
    TokenId left = symbols[at].id;
    TokenId right = symbols[symbols[at].after].id;
    Merge merge = merges_.find(left, right);
    if (merge.rank != kNoRank) queue.push({merge.rank, at, left, right, merge.id});
  };
  for (std::size_t at = 0; at < count; ++at)
    symbols[at] = {ids[at], at == 0 ? kNone : at - 1, at + 1 == count ? kNone : at + 1};
  for (std::size_t at = 0; at < count; ++at) consider(at);
  while (!queue.empty()) {
    Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.at];
    // Out of date where one of the two has been merged since.
    if (!left.alive || left.id != top.left || left.after == kNone ||
        symbols[left.after].id != top.right)
      continue;
    Symbol& right = symbols[left.after];
    left.id = top.whole;
    right.alive = false;
    left.after = right.after;
    if (right.after != kNone) symbols[right.after].before = top.at;
    consider(left.before);
    consider(top.at);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.alive) out.push_back(symbol.id);
  }
}

}  // namespace kw::lm
