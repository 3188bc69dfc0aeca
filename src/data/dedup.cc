#include "data/dedup.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/map_samples.h"
#include "data/near_duplicates.h"

namespace kw::data {
namespace {

using IdBytes = std::array<std::uint8_t, 32>;
// Half of a digest of 128 bits; the other half is the table's key.
using HalfDigest = std::uint64_t;

struct Compared {
  std::string digest;
  Signature signature{};
};

std::uint64_t number_of(std::string_view hex_digits) {
  std::uint64_t out = 0;
  std::from_chars(hex_digits.data(), hex_digits.data() + hex_digits.size(), out, 16);
  return out;
}

IdBytes bytes_of(std::string_view id) {
  IdBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(number_of(id.substr(2 * i, 2)));
  return out;
}

class DedupRun {
 public:
  DedupRun(const DedupOptions& options, OutputFile& out, OutputFile* removed)
      : options_(options),
        out_(out),
        removed_(removed),
        near_(options.threshold > 0 ? options.threshold : 1) {}

  Result<DedupCounts> run(const std::filesystem::path& in) {
    const auto work = [this](const Sample& sample) {
      const Features features = features_of(sample, options_.by);
      Compared out;
      out.digest = features.digest;
      if (options_.threshold > 0) out.signature = signature_of(features.shingles);
      return out;
    };
    const auto take = [this](const std::string& id, std::string_view line, const Compared& value) {
      return judge(id, line, value);
    };
    KW_TRY(counts_.bytes, map_samples<Compared>(in, work, take));
    return counts_;
  }

 private:
  Status judge(const std::string& id, std::string_view line, const Compared& row) {
    ++counts_.rows;
    const std::uint64_t key = number_of(std::string_view(row.digest).substr(0, 16));
    const HalfDigest rest = number_of(std::string_view(row.digest).substr(16));
    auto [first, last] = digests_.equal_range(key);
    for (; first != last; ++first) {
      if (first->second.first != rest) continue;
      ++counts_.same;
      return remove(id, "same", first->second.second, 1);
    }
    const auto index = static_cast<std::uint32_t>(ids_.size());
    if (options_.threshold > 0) {
      if (auto match = near_.find_or_keep(row.signature)) {
        ++counts_.near;
        return remove(id, "near", match->index, match->similarity);
      }
    }
    digests_.emplace(key, std::pair(rest, index));
    ids_.push_back(bytes_of(id));
    ++counts_.kept;
    return out_.append_line(line);
  }

  Status remove(const std::string& id, std::string_view reason, std::uint32_t as,
                double similarity) {
    if (removed_ == nullptr) return {};
    const Json line = {
        {"id", id}, {"reason", reason}, {"as", hex(ids_[as])}, {"similarity", similarity}};
    return removed_->append_line(line.dump());
  }

  const DedupOptions options_;
  OutputFile& out_;
  OutputFile* removed_;
  DedupCounts counts_;
  NearDuplicates near_;
  std::unordered_multimap<std::uint64_t, std::pair<HalfDigest, std::uint32_t>> digests_;
  std::vector<IdBytes> ids_;  // ids of kept samples
};

}  // namespace

Result<DedupCounts> dedup(const std::filesystem::path& in, const DedupOptions& options,
                          OutputFile& out, OutputFile* removed) {
  return DedupRun(options, out, removed).run(in);
}

}  // namespace kw::data
