#include "runlog/stored.h"

#include "base/json.h"
#include "runlog/candidate_text.h"
#include "runlog/run_folder.h"

namespace kw::runlog {

std::string verdict_text(const task::Verdict& verdict) {
  return task::to_json(verdict).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<task::Verdict> stored_verdict(const std::filesystem::path& folder, const std::string& hash) {
  KW_TRY(std::string text, RunFolder::get(folder, hash));
  KW_TRY(Json value, parse_json(text));
  return task::verdict_from_json(value, "verdict");
}

Result<task::Candidate> stored_candidate(const std::filesystem::path& folder,
                                         const std::string& hash) {
  KW_TRY(std::string text, RunFolder::get(folder, hash));
  return candidate_from_text(text);
}

}  // namespace kw::runlog
