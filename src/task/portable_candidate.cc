#include "task/portable_candidate.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "task/candidate_source.h"
#include "task/language.h"
#include "task/solution_json.h"

namespace kw::task {
namespace {

constexpr const char* kAnyDefinition = "any";

// What solution_to_json() completes: whether the candidate lacks it, and how it is taken out again.
struct Field {
  const char* name;
  bool (*is_missing)(const Candidate&);
  void (*clear)(Candidate&);
};
constexpr std::array<Field, 5> kFields = {{
    {"definition", [](const Candidate& c) { return c.definition.empty(); },
     [](Candidate& c) { c.definition.clear(); }},
    {"author", [](const Candidate& c) { return c.author.empty(); },
     [](Candidate& c) { c.author.clear(); }},
    {"target_hardware", [](const Candidate& c) { return c.target_hardware.empty(); },
     [](Candidate& c) { c.target_hardware.clear(); }},
    {"entry_function", [](const Candidate& c) { return c.entry_function.empty(); },
     [](Candidate& c) { c.entry_function.clear(); }},
    {"destination_passing", [](const Candidate& c) { return !c.destination_passing_given; },
     [](Candidate& c) { c.destination_passing_given = false; }},
}};

// A source file by its name and content, as load_candidate() reads it.
Result<Candidate> bare_candidate(ObjectReader& reader) {
  KW_TRY(const std::string file, reader.string("file"));
  KW_TRY(std::string content, reader.string("content"));
  KW_TRY(const std::string name, reader.string_or("language", ""));
  std::optional<Language> language;
  if (!name.empty()) {
    language = language_from_string(name);
    if (!language)
      return fail(ErrorCode::kInvalidArgument, "{}: there is no language \"{}\"",
                  reader.path("language"), printable(name, 40));
  }
  if (language == Language::kCubin || file.ends_with(".cubin"))
    return fail(ErrorCode::kInvalidArgument, "{}: a cubin is not text; send it as a solution",
                reader.path("file"));
  auto out = candidate_from_source(file, std::move(content), language);
  if (!out) return tl::unexpected(std::move(out).error().with_context(reader.path("file")));
  return out;
}

Result<Candidate> solution_candidate(ObjectReader& reader) {
  KW_TRY(const Json* solution, reader.get("solution"));
  KW_TRY(Candidate out, solution_without_hash(*solution, reader.path("solution")));
  KW_TRY(const std::vector<std::string> filled_in, reader.strings_or_empty("filled_in"));
  for (const std::string& name : filled_in) {
    const auto* field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end())
      return fail(ErrorCode::kInvalidArgument, "{}: there is no field \"{}\"",
                  reader.path("filled_in"), printable(name, 80));
    field->clear(out);
  }
  out.hash = candidate_hash(out);
  return out;
}

}  // namespace

Json portable_candidate_to_json(const Candidate& candidate) {
  Json filled_in = Json::array();
  for (const Field& field : kFields)
    if (field.is_missing(candidate)) filled_in.push_back(field.name);
  Json out = {{"hash", candidate.hash}, {"solution", solution_to_json(candidate, kAnyDefinition)}};
  if (!filled_in.empty()) out["filled_in"] = std::move(filled_in);
  return out;
}

Result<Candidate> portable_candidate_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(const std::string hash, reader.string_or("hash", ""));
  KW_TRY(Candidate out,
         reader.find("file") != nullptr ? bare_candidate(reader) : solution_candidate(reader));
  KW_TRY_STATUS(reader.no_other_keys());
  if (!hash.empty() && out.hash != hash)
    return fail(ErrorCode::kDataLoss, "{}: {} is not that of the content, {}", reader.path("hash"),
                printable(hash, 80), out.hash);
  return out;
}

}  // namespace kw::task
