// Module problems.
#include "task/kernelbench.h"

#include <charconv>
#include <system_error>

#include "base/text.h"
#include "task/policy_toml.h"
#include "text/names.h"
#include "text/python_scan.h"
#include "text/text_file.h"

namespace kw::task {
namespace {

// The whole number that text begins with; 0 for none.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value > 0 ? value : 0;
}

bool text_equals(const Json& row, const char* column, std::string_view key) {
  auto found = row.find(column);
  if (found == row.end()) return false;
  if (found->is_string()) return found->get<std::string>() == key;
  return found->is_number_integer() && found->dump() == key;
}

std::string column_text(const Json& row, const char* column) {
  auto found = row.find(column);
  if (found == row.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Result<Policy> policy_beside(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  file.replace_extension(".policy.toml");
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return Policy{};
  KW_TRY(std::string text, text::read_text(file, text::kMaxSourceFile));
  KW_TRY(Policy policy, policy_from_toml(text, file.string()));
  if (!policy.statics.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: static: a module's statics are its parameters and buffers", file.string());
  }
  if (!policy.workloads.empty() &&
      (policy.workloads.size() > 1 || !policy.workloads.contains("module"))) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: workloads: a module's only workload is \"module\"", file.string());
  }
  return policy;
}

Problem with_policy(Problem problem, Policy policy) {
  problem.policy = std::move(policy);
  problem.hash = problem_hash(problem);
  return problem;
}

}  // namespace

Result<Module> make_module(std::string_view source, const std::string& entry_point,
                           const Settings& settings) {
  text::PythonScan scan(source);
  for (const std::string& name :
       {entry_point, std::string("get_inputs"), std::string("get_init_inputs")}) {
    if (scan.defines(name)) continue;
    return fail(ErrorCode::kInvalidArgument, "the problem does not define {} at top level",
                printable(name, 80));
  }
  Module out;
  KW_TRY(out.source, apply_settings(source, settings));
  out.entry_point = entry_point;
  out.settings = settings;
  return out;
}

Problem module_problem(std::string name, Module module, std::string origin) {
  Problem out;
  out.name = std::move(name);
  out.body = std::move(module);
  out.workloads.push_back({"module", {}, {}});
  out.origin = std::move(origin);
  out.hash = problem_hash(out);
  return out;
}

Result<Problem> module_from_file(const std::filesystem::path& path, const Settings& settings) {
  KW_TRY(std::string source, text::read_text(path, text::kMaxSourceFile));
  auto module = make_module(source, "Model", settings);
  if (!module) return tl::unexpected(std::move(module).error().with_context(path.string()));
  std::string folder = path.parent_path().filename().string();
  if (folder.starts_with("level")) module->level = leading_number(folder.substr(5));
  module->problem_id = leading_number(path.stem().string());
  KW_TRY_STATUS(text::check_title(path.stem().string(), path.string()));
  KW_TRY(Policy policy, policy_beside(path));
  Problem problem = module_problem(path.stem().string(), std::move(*module), path.string());
  problem.root = path.parent_path();
  return with_policy(std::move(problem), std::move(policy));
}

Result<Problem> module_from_row(const Json& row, const std::string& origin,
                                const Settings& settings) {
  KW_TRY(ObjectReader reader, ObjectReader::make(row, ""));
  bool is_book = reader.find("python_code") != nullptr;
  if (!is_book && reader.find("code") == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "expected a column \"code\" (KernelBench) or \"python_code\" (KernelBook)");
  }
  KW_TRY(std::string source, reader.string(is_book ? "python_code" : "code"));
  if (source.size() > text::kMaxSourceFile) {
    return fail(ErrorCode::kInvalidArgument, "code: over {}", format_bytes(text::kMaxSourceFile));
  }
  std::string entry_point = "Model";
  if (is_book) {
    KW_TRY(entry_point, reader.string("entry_point"));
    if (!text::is_identifier(entry_point))
      return fail(ErrorCode::kInvalidArgument, "entry_point: \"{}\" is not a class name",
                  printable(entry_point, 80));
  }
  KW_TRY(std::int64_t level, reader.integer_or("level", 0));
  KW_TRY(std::int64_t id, reader.integer_or("problem_id", 0));
  if (level < 0 || id < 0)
    return fail(ErrorCode::kInvalidArgument, "level, problem_id: expected at least 0");
  KW_TRY(std::string name, reader.string_or("name", ""));
  if (name.empty() && is_book) {
    std::string uuid = column_text(row, "uuid");
    name = uuid.empty() ? entry_point : entry_point + "_" + uuid;
  } else if (name.empty()) {
    return fail(ErrorCode::kInvalidArgument, "name: missing");
  }
  KW_TRY_STATUS(text::check_title(name, "name"));
  auto module = make_module(source, entry_point, settings);
  if (!module) return tl::unexpected(std::move(module).error().with_context(printable(name, 80)));
  module->level = level;
  module->problem_id = id;
  return module_problem(std::move(name), std::move(*module), origin);
}

bool row_matches(const Json& row, std::string_view key) {
  if (!row.is_object()) return false;
  for (const char* column : {"name", "entry_point", "uuid"}) {
    if (text_equals(row, column, key)) return true;
  }
  if (auto slash = key.find('/'); slash != std::string_view::npos) {
    return text_equals(row, "level", key.substr(0, slash)) &&
           text_equals(row, "problem_id", key.substr(slash + 1));
  }
  std::string both = column_text(row, "entry_point") + "_" + column_text(row, "uuid");
  return both.size() > 1 && both == key;
}

}  // namespace kw::task
