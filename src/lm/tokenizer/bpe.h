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

// The symbols that merging begins with.
enum class BpeSymbols {
  kBytes,      // behind a ByteLevel pre-tokenizer
  kCharacters  // SentencePiece's models: Gemma, Llama 2
};

// Immutable after it was made: any number of threads may encode, each with its own cache.
//
// A symbol without a token is, in this order, the tokens "<0xNN>" of its bytes (byte_fallback), the
// unk_token (several in a row are one with fuse_unk), or nothing, as HF `tokenizers` has it.
class Bpe {
 public:
  // Reads type BPE with vocab, merges as "a b" or ["a", "b"], ignore_merges, unk_token, fuse_unk
  // and byte_fallback (of characters). dropout and affixes are refused with kUnsupported, as are
  // other types; kInvalidArgument for anything inconsistent. Errors name the key below `where`.
  static Result<Bpe> from_json(const Json& value, const std::string& where,
                               BpeSymbols symbols = BpeSymbols::kBytes);

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
  static constexpr TokenId kNoToken = -1;

  Status read_vocab(const Json& value, const std::string& where);
  Status read_merges(const Json& value, const std::string& where);
  Status read_unknown(ObjectReader& reader);
  void find_bytes();
  // The symbols of a word in the vocabulary, at most as many as it has bytes: their number.
  std::size_t symbols_of(std::string_view word, TokenId* out) const;
  void merge_short(std::string_view word, std::vector<TokenId>& out) const;
  void merge_long(std::string_view word, std::vector<TokenId>& out) const;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, TokenId> ids_;    // by text
  std::unordered_map<std::string, TokenId> words_;  // by bytes, only with ignore_merges
  // 256: of bytes, or of "<0xNN>" for kCharacters; kNoToken where there is none
  std::vector<TokenId> byte_ids_;
  bool all_bytes_ = false;
  MergeTable merges_;
  BpeSymbols symbols_ = BpeSymbols::kBytes;
  bool ignore_merges_ = false;
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  TokenId unknown_ = kNoToken;
};

}  // namespace kw::lm
