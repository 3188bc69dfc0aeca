#include "data/split.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/hash.h"
#include "data/files.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kGroupSeed = 0x67726f7570;
constexpr std::uint64_t kPairSeed = 0x70616972;

std::uint64_t seeded(std::string_view text, std::uint64_t seed) {
  // SHA-256 decides, so that parts do not change with the program's fast hash.
  const std::string digits = sha256_hex(fmt::format("{}:{}", seed, text));
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const char c = digits[i];
    out = out << 4U | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return out;
}

double share_of(std::uint64_t hash) {
  return static_cast<double>(hash >> 11U) * 0x1p-53;
}

const std::string& group_of(const Sample& sample) {
  return sample.group.empty() ? sample.id : sample.group;
}

std::uint64_t group_key(const Sample& sample) {
  return keyed_hash(std::as_bytes(std::span(group_of(sample))), kGroupSeed);
}

class SplitRun {
 public:
  SplitRun(const fs::path& in, const fs::path& folder, const SplitOptions& options)
      : in_(in), folder_(folder), options_(options) {}

  Result<SplitReport> run() {
    KW_TRY_STATUS(choose_adjacencies());
    KW_TRY_STATUS(find_held_out());
    KW_TRY_STATUS(set_unlabelled_aside());
    KW_TRY_STATUS(write());
    KW_TRY_STATUS(verify());
    return report_;
  }

 private:
  fs::path path(Part part) const { return folder_ / (std::string(to_string(part)) + ".jsonl"); }

  Status choose_adjacencies() {
    std::map<Adjacency, std::uint64_t> samples_with;
    std::uint64_t samples = 0;
    KW_TRY_STATUS(for_each_sample(in_, [&](const Sample& sample, std::string_view) -> Status {
      ++samples;
      if (!labelled(sample)) ++report_.unlabelled;
      for (Adjacency& pair : adjacencies_of(sample.labels)) ++samples_with[std::move(pair)];
      return {};
    }));
    report_.kinds_of_adjacencies = samples_with.size();
    const auto most = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(options_.most_common * static_cast<double>(samples)));
    for (const auto& [pair, count] : samples_with) {
      const std::uint64_t hash = seeded(pair.first + " " + pair.second, options_.seed ^ kPairSeed);
      if (count <= most && share_of(hash) < options_.adjacencies) report_.held_out[pair] = count;
    }
    return {};
  }

  bool shows_held_out(const Sample& sample) const {
    const auto pairs = adjacencies_of(sample.labels);
    return std::any_of(pairs.begin(), pairs.end(),
                       [this](const Adjacency& pair) { return report_.held_out.contains(pair); });
  }

  bool too_deep(const Sample& sample) const {
    return options_.deeper_than > 0 && sample.labels.depth.value_or(0) > options_.deeper_than;
  }

  // A sample without a problem has no operators, and nothing to be held out.
  static bool labelled(const Sample& sample) {
    return !sample.problem || !sample.labels.operators.empty();
  }

  Part part_of(const Sample& sample) const {
    if (too_deep(sample)) return Part::kDepth;
    if (shows_held_out(sample)) return Part::kAdjacencies;
    const double share = share_of(seeded(group_of(sample), options_.seed));
    if (share < options_.test) return Part::kTest;
    return share < options_.test + options_.validation ? Part::kValidation : Part::kTrain;
  }

  // A property of one sample holds for its whole group. Depth is decided first, then adjacencies,
  // then the rest.
  Status find_held_out() {
    return for_each_sample(in_, [&](const Sample& sample, std::string_view) -> Status {
      Group& group = groups_[group_key(sample)];
      group.part = std::max(group.part, part_of(sample));
      group.labelled = group.labelled || labelled(sample);
      return {};
    });
  }

  Status set_unlabelled_aside() {
    if (!options_.holds_out() || options_.unlabelled == Unlabelled::kLikeOthers) return {};
    std::uint64_t unlabelled = 0;
    for (auto& [key, group] : groups_) {
      if (group.labelled) continue;
      group.part = Part::kUnlabelled;
      ++unlabelled;
    }
    if (unlabelled == 0 ||
        (options_.unlabelled == Unlabelled::kAside && unlabelled < groups_.size()))
      return {};
    return fail(ErrorCode::kInvalidArgument,
                "{} of {} groups name no operators, so that nothing of them can be held out: data "
                "import --trace names them, --unlabelled train takes them like others, and "
                "--held-out 0 --deeper-than 0 holds nothing out",
                unlabelled, groups_.size());
  }

  Status write() {
    std::array<std::optional<OutputFile>, kParts> files;
    KW_TRY_STATUS(for_each_sample(in_, [&](const Sample& sample, std::string_view line) -> Status {
      const Part part = groups_.at(group_key(sample)).part;
      auto& file = files[static_cast<std::size_t>(part)];
      if (!file) {
        auto made = OutputFile::create(path(part), false);
        if (!made) return tl::unexpected(std::move(made).error());
        file.emplace(std::move(*made));
      }
      ++report_.samples[static_cast<std::size_t>(part)];
      return file->append_line(line);
    }));
    for (const auto& [key, group] : groups_) ++report_.groups[static_cast<std::size_t>(group.part)];
    for (auto& file : files) {
      if (file) KW_TRY_STATUS(file->close());
    }
    return {};
  }

  Status verify() {
    std::unordered_map<std::uint64_t, Part> where;
    for (std::size_t i = 0; i < kParts; ++i) {
      if (report_.samples[i] == 0) continue;
      const Part part = static_cast<Part>(i);
      KW_TRY_STATUS(
          for_each_sample(path(part), [&](const Sample& sample, std::string_view) -> Status {
            auto [at, added] = where.emplace(group_key(sample), part);
            if (at->second != part) ++report_.shared_groups;
            if (part != Part::kTrain) return {};
            if (shows_held_out(sample)) ++report_.held_out_in_train;
            if (too_deep(sample)) ++report_.too_deep_in_train;
            return {};
          }));
    }
    if (report_.shared_groups + report_.held_out_in_train + report_.too_deep_in_train > 0)
      return fail(ErrorCode::kInternal,
                  "the parts in {} are not apart: {} groups in two, {} held-out samples in train",
                  folder_.string(), report_.shared_groups,
                  report_.held_out_in_train + report_.too_deep_in_train);
    return {};
  }

  struct Group {
    Part part = Part::kTrain;
    bool labelled = false;
  };

  const fs::path in_, folder_;
  const SplitOptions options_;
  SplitReport report_;
  std::unordered_map<std::uint64_t, Group> groups_;
};

}  // namespace

std::string_view to_string(Part part) {
  static constexpr std::array<std::string_view, kParts> kNames = {
      "train", "validation", "test", "unlabelled", "h1", "h2"};
  return kNames[static_cast<std::size_t>(part)];
}

std::vector<Adjacency> adjacencies_of(const Labels& labels) {
  std::set<Adjacency> out;
  const auto& ops = labels.operators;
  if (labels.edges) {
    for (const auto& [from, to] : *labels.edges)
      out.emplace(ops[static_cast<std::size_t>(from)], ops[static_cast<std::size_t>(to)]);
  } else {
    for (std::size_t i = 0; i + 1 < ops.size(); ++i) out.emplace(ops[i], ops[i + 1]);
  }
  return {out.begin(), out.end()};
}

Result<SplitReport> split_dataset(const fs::path& in, const fs::path& out_folder,
                                  const SplitOptions& options) {
  return SplitRun(in, out_folder, options).run();
}

Json to_json(const SplitReport& report) {
  Json parts = Json::object(), held_out = Json::array();
  for (std::size_t i = 0; i < kParts; ++i)
    parts[std::string(to_string(static_cast<Part>(i)))] = {{"samples", report.samples[i]},
                                                           {"groups", report.groups[i]}};
  for (const auto& [pair, count] : report.held_out)
    held_out.push_back({{"from", pair.first}, {"to", pair.second}, {"samples", count}});
  return {{"parts", parts},
          {"adjacencies", report.kinds_of_adjacencies},
          {"held_out", held_out},
          {"unlabelled", report.unlabelled},
          {"held_out_in_train", report.held_out_in_train},
          {"too_deep_in_train", report.too_deep_in_train},
          {"shared_groups", report.shared_groups}};
}

}  // namespace kw::data
