#include "data/generator_origin.h"

#include <utility>

#include "base/text.h"
#include "writer/author/check_plan.h"

namespace kw::data {
namespace {

Json to_json(const writer::GeneratorOptions& bounds) {
  Json out = {{"min_depth", bounds.min_depth},
              {"max_depth", bounds.max_depth},
              {"max_elements", bounds.max_elements},
              {"max_work", bounds.max_work}};
  if (bounds.interpreted_elements > 0) out["interpreted_elements"] = bounds.interpreted_elements;
  if (!bounds.tiers.empty()) out["tiers"] = bounds.tiers;
  if (!bounds.only_first.empty()) out["only_first"] = bounds.only_first;
  if (!bounds.only_operators.empty()) out["only_operators"] = bounds.only_operators;
  return out;
}

Result<int> depth_of(ObjectReader& reader, std::string_view key) {
  KW_TRY(const std::int64_t out, reader.integer(key));
  constexpr int kMax = 8;
  if (out < 1 || out > kMax)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to {}, not {}", reader.path(key), kMax,
                out);
  return static_cast<int>(out);
}

Result<std::vector<int>> tiers_of(ObjectReader& reader) {
  std::vector<int> out;
  const Json* list = reader.find("tiers");
  if (list == nullptr) return out;
  for (const Json& one : *list) {
    if (!one.is_number_integer())
      return fail(ErrorCode::kInvalidArgument, "{}: expected whole numbers", reader.path("tiers"));
    out.push_back(one.get<int>());
  }
  return out;
}

Result<writer::GeneratorOptions> bounds_of(const Json& value) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "origin.bounds"));
  writer::GeneratorOptions out;
  KW_TRY(out.min_depth, depth_of(reader, "min_depth"));
  KW_TRY(out.max_depth, depth_of(reader, "max_depth"));
  KW_TRY(out.max_elements, reader.integer("max_elements"));
  KW_TRY(out.max_work, reader.integer("max_work"));
  if (reader.find("interpreted_elements") != nullptr) {
    KW_TRY(out.interpreted_elements, reader.integer("interpreted_elements"));
  }
  KW_TRY(out.tiers, tiers_of(reader));
  KW_TRY(out.only_first, reader.string_or("only_first", ""));
  KW_TRY(out.only_operators, reader.strings_or_empty("only_operators"));
  if (out.min_depth > out.max_depth || out.max_elements < 1 || out.max_work < 1)
    return fail(ErrorCode::kInvalidArgument, "origin.bounds: there is no such problem");
  return out;
}

Result<std::uint64_t> whole_number(const Json& origin, const char* key) {
  const auto found = origin.find(key);
  if (found == origin.end() || !found->is_number_integer() || (*found < 0))
    return fail(ErrorCode::kInvalidArgument, "origin.{}: expected a whole number from 0", key);
  return found->get<std::uint64_t>();
}

}  // namespace

Json generator_origin(std::uint64_t seed, std::uint64_t index, std::uint64_t problem,
                      const writer::GeneratorOptions& bounds) {
  return {{"generator", kGenerator},
          {"seed", seed},
          {"index", index},
          {"problem", problem},
          {"bounds", to_json(bounds)}};
}

Result<std::optional<writer::ProblemForm>> generated_form(const Sample& sample) {
  const Json& origin = sample.origin;
  const auto generator = origin.find("generator");
  if (generator == origin.end() || *generator != kGenerator || origin.contains("teacher") ||
      !sample.problem)
    return std::optional<writer::ProblemForm>();
  KW_TRY(const std::uint64_t seed, whole_number(origin, "seed"));
  KW_TRY(const std::uint64_t index, whole_number(origin, "problem"));
  const auto bounds = origin.find("bounds");
  if (bounds == origin.end()) return fail(ErrorCode::kInvalidArgument, "origin.bounds: missing");
  KW_TRY(const writer::GeneratorOptions options, bounds_of(*bounds));
  KW_TRY(writer::GeneratedProblem problem, writer::generate_problem(seed, index, options));
  writer::ProblemForm& form = sample.problem->is_module ? problem.module : problem.definition;
  if (form.problem.hash != sample.problem->hash)
    return fail(ErrorCode::kInvalidArgument,
                "another version of the generator made {}: judge it with the version that made it",
                printable(sample.problem->name, 80));
  return std::optional(std::move(form));
}

Result<std::string> misfit_of_plan(const Sample& sample) {
  KW_TRY(const auto form, generated_form(sample));
  const auto language = task::language_from_string(sample.language);
  if (!form || !language) return std::string();
  KW_TRY(const std::vector<std::string> misfits,
         writer::check_answer(form->graph, form->signature, *language, sample.answer()));
  return join(misfits, "; ");
}

}  // namespace kw::data
