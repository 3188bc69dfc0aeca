#include "data/sample.h"

#include <array>

#include "base/hash.h"
#include "base/text.h"
#include "task/candidate.h"
#include "task/kernelbench.h"

namespace kw::data {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 6> kKinds = {{
    {Kind::kImplement, "implement"},
    {Kind::kConvert, "convert"},
    {Kind::kDefinition, "definition"},
    {Kind::kRepair, "repair"},
    {Kind::kSpeedup, "speedup"},
    {Kind::kChat, "chat"},
}};

// With its length in front, so that no two lists of texts give the same bytes.
void add_text(Sha256& hash, std::string_view text) {
  hash.update(fmt::format("{}:", text.size())).update(text);
}

Json to_json(const SampleProblem& problem) {
  Json out = task::to_json(problem);
  if (!problem.resized.empty()) out["resized"] = problem.resized;
  return out;
}

Result<Json> object_of(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.find(key);
  if (value == nullptr) return Json::object();
  if (!value->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}: expected an object", reader.path(key));
  return *value;
}

Result<std::optional<SampleProblem>> problem_of(ObjectReader& reader) {
  std::optional<SampleProblem> out;
  const Json* value = reader.find("problem");
  if (value == nullptr) return out;
  KW_TRY(ObjectReader one, ObjectReader::make(*value, "problem"));
  out.emplace();
  KW_TRY(static_cast<task::PortableProblem&>(*out), task::read_portable_problem(one));
  if (out->hash.empty()) return fail(ErrorCode::kInvalidArgument, "{}: missing", one.path("hash"));
  KW_TRY(out->resized, one.strings_or_empty("resized"));
  if (!out->is_module && !out->resized.empty())
    return fail(ErrorCode::kInvalidArgument,
                "problem.resized: a definition has its sizes in its workloads");
  KW_TRY_STATUS(one.no_other_keys());
  return out;
}

Result<std::vector<std::pair<int, int>>> edges_of(const Json& value, std::size_t operators) {
  const auto bad = [] {
    return fail(ErrorCode::kInvalidArgument,
                "labels.edges: expected pairs of indices of labels.operators, the smaller first");
  };
  if (!value.is_array()) return bad();
  std::vector<std::pair<int, int>> out;
  for (const Json& pair : value) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number_integer())
      return bad();
    const auto from = pair[0].get<std::int64_t>(), to = pair[1].get<std::int64_t>();
    if (from < 0 || from >= to || to >= static_cast<std::int64_t>(operators)) return bad();
    out.emplace_back(static_cast<int>(from), static_cast<int>(to));
  }
  return out;
}

Result<std::optional<std::int64_t>> whole_of(ObjectReader& reader, std::string_view key) {
  std::optional<std::int64_t> out;
  if (reader.find(key) == nullptr) return out;
  KW_TRY(out, reader.integer(key));
  if (*out < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0", reader.path(key));
  return out;
}

Result<Labels> labels_of(ObjectReader& row) {
  Labels out;
  KW_TRY(Json value, object_of(row, "labels"));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "labels"));
  KW_TRY(out.operators, reader.strings_or_empty("operators"));
  if (const Json* edges = reader.find("edges")) {
    KW_TRY(out.edges, edges_of(*edges, out.operators.size()));
  }
  KW_TRY(out.graph, reader.string_or("graph", ""));
  KW_TRY(out.strategy, reader.string_or("strategy", ""));
  KW_TRY(out.tuning, reader.string_or("tuning", ""));
  KW_TRY(out.tier, whole_of(reader, "tier"));
  KW_TRY(out.depth, whole_of(reader, "depth"));
  for (const char* known : {"operators", "edges", "graph", "strategy", "tuning", "tier", "depth"})
    value.erase(known);
  out.other = std::move(value);
  return out;
}

Result<std::optional<Pending>> pending_of(ObjectReader& reader) {
  std::optional<Pending> out;
  const Json* value = reader.find("pending");
  if (value == nullptr) return out;
  KW_TRY(ObjectReader one, ObjectReader::make(*value, "pending"));
  out.emplace();
  KW_TRY(out->previous, one.string("previous"));
  KW_TRY(out->prompt_template, one.string("template"));
  KW_TRY_STATUS(one.no_other_keys());
  return out;
}

Status check_parts(const Sample& sample) {
  if (sample.pending && (!sample.answered() || !sample.problem || sample.language.empty()))
    return fail(ErrorCode::kInvalidArgument, "pending: needs an answer, a problem and a language");
  if (sample.kind != Kind::kChat && !sample.problem)
    return fail(ErrorCode::kInvalidArgument, "problem: missing, and the kind is {}",
                to_string(sample.kind));
  if (sample.problem && sample.language.empty())
    return fail(ErrorCode::kInvalidArgument, "language: missing, and there is a problem");
  if (!sample.language.empty() && !task::language_from_string(sample.language))
    return fail(ErrorCode::kInvalidArgument, "language: unknown \"{}\"",
                printable(sample.language, 40));
  return {};
}

}  // namespace

std::string_view to_string(Kind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  return "?";
}

std::optional<Kind> kind_from_string(std::string_view name) {
  for (const auto& [value, known] : kKinds) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Json to_json(const Labels& labels) {
  Json out = Json::object();
  if (!labels.operators.empty()) out["operators"] = labels.operators;
  if (labels.edges) out["edges"] = *labels.edges;
  if (!labels.graph.empty()) out["graph"] = labels.graph;
  if (!labels.strategy.empty()) out["strategy"] = labels.strategy;
  if (!labels.tuning.empty()) out["tuning"] = labels.tuning;
  if (labels.tier) out["tier"] = *labels.tier;
  if (labels.depth) out["depth"] = *labels.depth;
  for (const auto& [key, value] : labels.other.items()) out[key] = value;
  return out;
}

const std::string& Sample::answer() const {
  static const std::string none;
  return answered() ? messages.back().content : none;
}

std::string sample_id(const Sample& sample) {
  Sha256 hash;
  add_text(hash, to_string(sample.kind));
  add_text(hash, sample.language);
  add_text(hash, sample.problem ? sample.problem->hash : "");
  add_text(hash, sample.pending ? sample.pending->previous : "");
  for (const text::ChatMessage& message : sample.messages) {
    add_text(hash, message.role);
    add_text(hash, message.content);
  }
  return hash.finish();
}

std::string to_line(const Sample& sample) {
  Json out = {{"schema", Sample::kSchema},
              {"id", sample_id(sample)},
              {"kind", to_string(sample.kind)},
              {"messages", to_json(sample.messages)},
              {"problem", sample.problem ? to_json(*sample.problem) : Json()},
              {"language", sample.language},
              {"origin", sample.origin},
              {"labels", to_json(sample.labels)},
              {"group", sample.group}};
  if (sample.pending)
    out["pending"] = {{"previous", sample.pending->previous},
                      {"template", sample.pending->prompt_template}};
  if (!sample.verdict.is_null()) out["verdict"] = sample.verdict;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Sample> sample_from_json(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::int64_t schema, reader.integer("schema"));
  if (schema != Sample::kSchema)
    return fail(ErrorCode::kUnsupported, "schema {}: this program reads {}", schema,
                Sample::kSchema);
  Sample out;
  KW_TRY(out.id, reader.string_or("id", ""));
  KW_TRY(std::string kind, reader.string("kind"));
  const auto known = kind_from_string(kind);
  if (!known) return fail(ErrorCode::kInvalidArgument, "kind: unknown \"{}\"", printable(kind, 40));
  out.kind = *known;
  KW_TRY(const Json* messages, reader.get("messages"));
  KW_TRY(out.messages, prompt::messages_from_json(*messages, text::OtherKeys::kRefused));
  KW_TRY(out.problem, problem_of(reader));
  KW_TRY(out.language, reader.string_or("language", ""));
  KW_TRY(out.origin, object_of(reader, "origin"));
  KW_TRY(out.labels, labels_of(reader));
  KW_TRY(out.group, reader.string("group"));
  KW_TRY(out.pending, pending_of(reader));
  KW_TRY(Json verdict, object_of(reader, "verdict"));
  if (!verdict.empty()) out.verdict = std::move(verdict);
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check_parts(out));
  std::string id = sample_id(out);
  if (!out.id.empty() && out.id != id)
    return fail(ErrorCode::kDataLoss, "id: {} is not that of the content, {}",
                printable(out.id, 80), id);
  out.id = std::move(id);
  return out;
}

Result<SampleProblem> sample_problem(const task::Problem& problem) {
  SampleProblem out;
  KW_TRY(static_cast<task::PortableProblem&>(out), task::portable_problem(problem));
  return out;
}

Result<std::vector<task::Problem>> resized_problems(const SampleProblem& problem,
                                                    const std::string& origin) {
  std::vector<task::Problem> out;
  for (const std::string& source : problem.resized) {
    KW_TRY(task::Module module, task::make_module(source, "Model", {}));
    out.push_back(task::module_problem(problem.name, std::move(module), origin));
  }
  return out;
}

}  // namespace kw::data
