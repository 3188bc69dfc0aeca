// Splits a data set so that training parts and held-out parts share no source problem.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "data/sample.h"

namespace kw::data {

enum class Part { kTrain, kValidation, kTest, kUnlabelled, kAdjacencies, kDepth };
inline constexpr std::size_t kParts = 6;
std::string_view to_string(Part part);  // "train", ..., "unlabelled", "h1", "h2": the file's name

// How groups with a problem of which no sample names operators are treated: H1 and H2 cannot tell
// whether they show held-out pairs or depths.
enum class Unlabelled { kAside, kLikeOthers, kRefused };

struct SplitOptions {
  std::uint64_t seed = 0;
  double validation = 0.02, test = 0.02;  // shares of the groups that are not held out
  // H1: shares of all pairs of operators of which the second uses the first's result. A group with
  // a chosen one is held out. Pairs in more than most_common of the samples are not chosen.
  double adjacencies = 0.02, most_common = 0.02;
  std::int64_t deeper_than = 0;  // H2: groups with a deeper graph are held out; 0: none
  Unlabelled unlabelled = Unlabelled::kAside;  // like others where nothing is held out

  bool holds_out() const { return adjacencies > 0 || deeper_than > 0; }
};

using Adjacency = std::pair<std::string, std::string>;
// Adjacencies of labels.edges, or else of the chain of operators; each once.
std::vector<Adjacency> adjacencies_of(const Labels& labels);

struct SplitReport {
  std::array<std::uint64_t, kParts> samples{}, groups{};
  std::uint64_t unlabelled = 0;                 // samples with a problem, without operators
  std::map<Adjacency, std::uint64_t> held_out;  // chosen, with how many samples have them
  std::uint64_t kinds_of_adjacencies = 0;       // in the whole set
  // Counted again in the files that were written; all 0, or the split is an error.
  std::uint64_t held_out_in_train = 0, shared_groups = 0, too_deep_in_train = 0;
};

// Writes PART.jsonl for every part that has samples into an empty folder. It reads the input three
// times, and the written files once. The same seed gives the same parts in any order of the rows. A
// sample stays in its part when others are added, except for H1, whose choice depends on how common
// a pair is. kInternal when the check of the files fails; kInvalidArgument for unlabelled groups
// that are refused, and where there are no others. Memory: about 40 bytes a group.
Result<SplitReport> split_dataset(const std::filesystem::path& in,
                                  const std::filesystem::path& out_folder,
                                  const SplitOptions& options);
Json to_json(const SplitReport& report);

}  // namespace kw::data
