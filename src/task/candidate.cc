// Candidate identity.
#include "task/candidate.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/json.h"

namespace kw::task {

const SourceFile* Candidate::entry_source() const {
  for (const SourceFile& source : sources) {
    if (source.path == entry_file) return &source;
  }
  return nullptr;
}

// A single file's name says nothing about what it computes, so that copies under other names hash
// alike. Contents are hashed first: a cubin is not text and could not stand in JSON.
std::string candidate_hash(const Candidate& candidate) {
  bool single = candidate.sources.size() == 1;
  auto known_as = [&](const std::string& path) {
    return single ? "main" + std::filesystem::path(path).extension().string() : path;
  };
  std::vector<std::pair<std::string, std::string>> sources;
  for (const SourceFile& source : candidate.sources) {
    sources.emplace_back(known_as(source.path), sha256_hex(source.content));
  }
  std::sort(sources.begin(), sources.end());
  Json identity = Json::object();
  identity["language"] = to_string(candidate.language);
  identity["entry_file"] = known_as(candidate.entry_file);
  identity["entry_function"] = candidate.entry_function;
  identity["flags"] = candidate.flags;
  identity["binding"] = candidate.binding;
  identity["destination_passing"] = candidate.destination_passing;
  identity["destination_passing_given"] = candidate.destination_passing_given;
  identity["dependencies"] = candidate.dependencies;
  identity["sources"] = sources;
  Json& launches = identity["launches"] = Json::array();
  for (const LaunchDescriptor& launch : candidate.launches) launches.push_back(to_json(launch));
  for (const ScratchDescriptor& one : candidate.scratch)
    identity["scratch"].push_back(to_json(one));
  return sha256_hex(canonical_json(identity));
}

}  // namespace kw::task
