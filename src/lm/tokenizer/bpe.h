// Byte pair encoding of single words: `model` of tokenizer.json.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::lm {

using TokenId = std::int32_t;

inline constexpr TokenId kMaxTokenId = (1 << 21) - 1;

// The words seen last and their tokens. One thread at a time.
class WordCache {
 public:
  WordCache() : slots_(kSlots) {}

 private:
  friend class Bpe;
  static constexpr std::size_t kSlots = 1U << 14U;
  static constexpr std::size_t kMaxWord = 22;
  static constexpr std::size_t kMaxIds = 10;
  // A cache line.
  struct alignas(64) Slot {
    char word[kMaxWord] = {};
    std::uint8_t length = 0;
    std::uint8_t count = 0;
    TokenId ids[kMaxIds] = {};
  };
  Slot& slot_of(std::string_view word);
  std::vector<Slot> slots_;
};

// Immutable after it was made: any number of threads may encode, each with its own cache.
class Bpe {
 public:
  // Reads type BPE with vocab (every byte's token must be there), merges as "a b" or ["a", "b"],
  // and ignore_merges. What byte-level BPE does not need (dropout, affixes, byte_fallback) is
  // refused with kUnsupported; kInvalidArgument for anything inconsistent. Errors name the key
  // below `where`.
  static Result<Bpe> from_json(const Json& value, const std::string& where);

  // Appends the tokens of a word (raw bytes).
  void encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const;
  // The same without a cache.
  void encode(std::string_view word, std::vector<TokenId>& out) const;

  // Token texts as tokenizer.json writes them (byte_level.h), by id; "" where an id has none.
  const std::vector<std::string>& tokens() const { return tokens_; }
  std::optional<TokenId> id_of(std::string_view token) const;

 private:
  struct Merge {
    std::uint32_t rank;
    TokenId id;
  };
  // Pairs of tokens to merges, in one block of memory.
  class MergeTable {
   public:
    void reserve(std::size_t merges);
    void put(TokenId left, TokenId right, Merge merge);
    // rank is kNoRank where the two are not merged.
    Merge find(TokenId left, TokenId right) const;

   private:
    struct Row {
      std::uint64_t key = kEmpty;
      Merge merge{};
    };
    static constexpr std::uint64_t kEmpty = ~0ULL;
    std::size_t place(std::uint64_t key) const;
    std::vector<Row> rows_;
    int shift_ = 0;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

  Status read_vocab(const Json& value, const std::string& where);
  Status read_merges(const Json& value, const std::string& where);
  void merge_short(std::string_view word, std::vector<TokenId>& out) const;
  void merge_long(std::string_view word, std::vector<TokenId>& out) const;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, TokenId> ids_;    // by text
  std::unordered_map<std::string, TokenId> words_;  // by bytes, only with ignore_merges
  std::vector<TokenId> byte_ids_;                   // 256
  MergeTable merges_;
  bool ignore_merges_ = false;
};

}  // namespace kw::lm
