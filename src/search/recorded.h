// RecordedProposer: answers from a file, for tests and replays. docs/formats/answers.md
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "search/proposer.h"

namespace kw::search {

class RecordedProposer : public Proposer {
 public:
  // Loads a .jsonl of answers, or the folder of a run. A run's answers come with the cost of their
  // failed tries. kInvalidArgument names file and line.
  static Result<std::unique_ptr<RecordedProposer>> load(const std::filesystem::path& path);

  // Exhausted when the problem has no answer for this attempt. An answer's recorded errors come
  // first, once each in the life of this object.
  Result<Proposed> propose(const ProposalRequest& request, std::stop_token stop) override;
  std::string name() const override { return "recorded " + path_.string(); }

 private:
  struct Answer {
    Proposal proposal;
    std::string blob, reasoning_blob;  // the texts of a run; empty: in the proposal, or none
    std::vector<NoAnswer> errors;
  };
  using Key = std::pair<std::string, int>;

  explicit RecordedProposer(std::filesystem::path path) : path_(std::move(path)) {}
  Status read_lines();
  Status read_run();
  Status add(const Json& line);

  std::filesystem::path path_;
  std::map<Key, Answer> answers_;
  std::mutex mutex_;
  std::map<Key, std::size_t> errors_given_;  // under mutex_
};

}  // namespace kw::search
