#include "runlog/candidate_text.h"

#include <utility>
#include <vector>

#include "base/json.h"
#include "task/candidate_source.h"

namespace kw::runlog {

std::string candidate_text(const task::Candidate& candidate) {
  Json files = Json::array();
  for (const task::SourceFile& source : candidate.sources)
    files.push_back({{"path", source.path}, {"content", source.content}});
  const Json out = {{"name", candidate.name},
                    {"author", candidate.author},
                    {"description", candidate.description},
                    {"definition", candidate.definition},
                    {"language", task::to_string(candidate.language)},
                    {"files", files}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<task::Candidate> candidate_from_text(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "candidate"));
  KW_TRY(std::string language_name, reader.string("language"));
  auto language = task::language_from_string(language_name);
  KW_TRY(const Json* list, reader.get("files"));
  if (!language || !list->is_array() || list->empty())
    return fail(ErrorCode::kInvalidArgument, "candidate: no language or no files");
  std::vector<task::SourceFile> files;
  for (const Json& entry : *list) {
    KW_TRY(ObjectReader file, ObjectReader::make(entry, "candidate.files"));
    task::SourceFile source;
    KW_TRY(source.path, file.string("path"));
    KW_TRY(source.content, file.string("content"));
    files.push_back(std::move(source));
  }
  KW_TRY(task::Candidate out, task::candidate_from_files(*language, std::move(files)));
  KW_TRY(out.name, reader.string("name"));
  KW_TRY(out.author, reader.string("author"));
  KW_TRY(out.description, reader.string("description"));
  KW_TRY(out.definition, reader.string("definition"));
  return out;
}

}  // namespace kw::runlog
