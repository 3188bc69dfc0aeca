#include "data/export_row.h"

namespace kw::data {
namespace {

std::string text_of(const Json& value) {
  return value.is_null() ? "" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_problem(const SampleProblem& problem, Json& out) {
  out["problem_name"] = problem.name;
  out["problem_form"] = problem.is_module ? "module" : "definition";
  out["problem_source"] = problem.source;
  out["problem_hash"] = problem.hash;
  out["problem_workloads"] = text_of(problem.workloads);
  out["problem_policy"] = text_of(problem.policy);
  out["problem_resized"] = problem.resized;
}

}  // namespace

const std::vector<ExportColumn>& export_columns() {
  static const std::vector<ExportColumn> kColumns = {
      {"messages", "chat messages; the last is the assistant's answer",
       Json::array({{{"role", "string"}, {"content", "string"}}})},
      {"id", "hash of question and answer", "string"},
      {"kind", "what the answer was asked to do", "string"},
      {"language", "of the answer's kernel", "string"},
      {"operators", "torch's operators in the problem", Json::array({"string"})},
      {"strategy", "how the kernel was written", "string"},
      {"tier", "difficulty", "int64"},
      {"depth", "operators on the longest path", "int64"},
      {"labels",
       "all that is known of the sample, JSON: the columns before this one too, the "
       "graph's edges and digest, the question's template",
       "string"},
      {"group", "samples of one group are in one part", "string"},
      {"problem_name", "", "string"},
      {"problem_form", "`module` or `definition`", "string"},
      {"problem_source", "a module's Python, or a definition's JSON", "string"},
      {"problem_hash", "of source, workloads and policy", "string"},
      {"problem_workloads", "of a definition, JSON", "string"},
      {"problem_policy", "how it is judged, JSON; empty: the default", "string"},
      {"problem_resized", "the module at other sizes, where the answer is right too",
       Json::array({"string"})},
      {"origin", "where the row came from, JSON", "string"},
      {"outcome", "of judging the answer; empty: not judged", "string"},
      {"speedup", "over eager torch, median; null: not measured", "float64"},
      {"verdict", "what was found, JSON; empty: not judged", "string"}};
  return kColumns;
}

Json export_schema() {
  Json out = Json::object();
  for (const ExportColumn& column : export_columns()) out[std::string(column.name)] = column.type;
  return out;
}

Json export_row(const Sample& sample) {
  Json out = {{"id", sample.id},
              {"kind", to_string(sample.kind)},
              {"language", sample.language},
              {"messages", to_json(sample.messages)},
              {"operators", sample.labels.operators},
              {"strategy", sample.labels.strategy}};
  out["tier"] = sample.labels.tier ? Json(*sample.labels.tier) : Json();
  out["depth"] = sample.labels.depth ? Json(*sample.labels.depth) : Json();
  out["labels"] = text_of(to_json(sample.labels));
  out["group"] = sample.group;
  for (const char* column : {"problem_name", "problem_form", "problem_source", "problem_hash",
                             "problem_workloads", "problem_policy"})
    out[column] = "";
  out["problem_resized"] = Json::array();
  if (sample.problem) add_problem(*sample.problem, out);
  out["origin"] = text_of(sample.origin);
  out["outcome"] = "";
  out["speedup"] = Json();
  out["verdict"] = text_of(sample.verdict);
  if (!sample.verdict.is_object()) return out;
  if (const auto found = sample.verdict.find("outcome");
      found != sample.verdict.end() && found->is_string())
    out["outcome"] = *found;
  const Json speedup = sample.verdict.value("speedup", Json());
  if (speedup.is_object() && speedup.contains("median") && speedup["median"].is_number())
    out["speedup"] = speedup["median"].get<double>();
  return out;
}

}  // namespace kw::data
