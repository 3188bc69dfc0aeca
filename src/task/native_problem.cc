// Definitions with their workloads and policy from disk.
#include "task/native_problem.h"

#include <system_error>

#include "base/text.h"
#include "task/definition_json.h"
#include "task/policy_json.h"
#include "task/policy_toml.h"
#include "task/workload_json.h"
#include "text/text_file.h"

namespace kw::task {
namespace fs = std::filesystem;
namespace {

constexpr int kFoldersAbove = 3;

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<Definition> definition_from_file(const fs::path& file) {
  KW_TRY(Json value, text::read_json(file, text::kMaxSourceFile));
  auto definition = definition_from_json(value, "");
  if (!definition) return tl::unexpected(std::move(definition).error().with_context(file.string()));
  return definition;
}

struct Files {
  fs::path definition, workloads, policy;  // the policy need not exist
};

struct Found {
  fs::path file;      // the first
  std::string lines;  // of all files
};

Result<Problem> assemble(Definition definition, const Files& files, std::string_view lines,
                         const fs::path& root) {
  Problem out;
  out.name = definition.name;
  KW_TRY(out.workloads, workloads_from_jsonl(lines, definition, files.workloads.string()));
  if (file_exists(files.policy)) {
    KW_TRY(std::string text, text::read_text(files.policy, text::kMaxSourceFile));
    KW_TRY(out.policy, policy_from_toml(text, files.policy.string()));
    auto fits = check_policy(out.policy, definition, out.workloads);
    if (!fits) return tl::unexpected(std::move(fits).error().with_context(files.policy.string()));
  }
  out.body = std::move(definition);
  out.root = root;
  out.origin = files.definition.string();
  out.hash = problem_hash(out);
  return out;
}

// A column of a row; an object or a list may be JSON in a string.
Result<Json> column(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return Json();
  const bool is_plain =
      !found->is_string() || !(found->get_ref<const std::string&>().starts_with('{') ||
                               found->get_ref<const std::string&>().starts_with('['));
  if (is_plain) return *found;
  auto value = parse_json(found->get_ref<const std::string&>());
  if (!value) return tl::unexpected(std::move(value).error().with_context(key));
  return value;
}

// The lines of a file of workloads that name the definition.
Result<std::string> lines_naming(const fs::path& file, const std::string& definition) {
  KW_TRY(std::string text, text::read_text(file, text::kMaxDataFile));
  std::string out;
  if (text.find(definition) == std::string::npos) return out;
  for (const std::string& line : split(text, '\n')) {
    auto row = parse_json(line);
    const bool ours = row && row->is_object() && row->contains("workload") &&
                      row->value("definition", Json()) == definition;
    if (ours) out += line + "\n";
  }
  return out;
}

// Workloads in a file that is called otherwise: below `folder`, those that name the definition.
// Empty: there are none.
Result<Found> found_by_name(const fs::path& folder, const std::string& definition) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return Found{};
  KW_TRY(auto files, text::files_with_extension(folder, ".jsonl", true));
  Found found;
  for (const fs::path& file : files) {
    KW_TRY(std::string lines, lines_naming(file, definition));
    if (lines.empty()) continue;
    if (found.lines.empty()) found.file = file;
    found.lines += lines;
  }
  return found;
}

}  // namespace

bool is_definition_row(const Json& row) {
  return row.is_object() && row.contains("reference") && row.contains("workloads");
}

Result<Problem> problem_from_row(const Json& row, const fs::path& file) {
  Json keys = Json::object();
  for (const char* key : {"name", "description", "hf_id", "op_type", "tags", "axes", "inputs",
                          "outputs", "constraints", "custom_inputs_entrypoint", "reference"}) {
    KW_TRY(Json value, column(row, key));
    if (!value.is_null()) keys[key] = std::move(value);
  }
  KW_TRY(Definition definition, definition_from_json(keys, ""));
  KW_TRY(Json workloads, column(row, "workloads"));
  if (!workloads.is_array()) return fail(ErrorCode::kInvalidArgument, "workloads: expected a list");
  std::string lines;
  for (const Json& workload : workloads)
    lines += workload.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return assemble(std::move(definition), {file, "workloads", {}}, lines, file.parent_path());
}

fs::path workloads_in(const fs::path& folder) {
  const fs::path of_sol = folder / "workload.jsonl";
  return file_exists(of_sol) ? of_sol : folder / "workloads.jsonl";
}

Result<Problem> problem_from_folder(const fs::path& folder) {
  Files files{folder / "definition.json", workloads_in(folder), folder / "policy.toml"};
  KW_TRY(Definition definition, definition_from_file(files.definition));
  KW_TRY(std::string lines, text::read_text(files.workloads, text::kMaxDataFile));
  return assemble(std::move(definition), files, lines, folder);
}

Result<Problem> problem_from_definition(const fs::path& file) {
  KW_TRY(Definition definition, definition_from_file(file));
  fs::path policy = file;
  policy.replace_extension(".policy.toml");
  fs::path beside = file;
  beside.replace_extension(".jsonl");
  std::error_code ignored;
  fs::path folder = fs::absolute(file, ignored).lexically_normal().parent_path();
  const std::string lines = definition.name + ".jsonl";
  for (int above = 0; above <= kFoldersAbove; ++above, folder = folder.parent_path()) {
    for (const fs::path& workloads : {folder / "workloads" / definition.op_type / lines,
                                      folder / "workloads" / lines, workloads_in(folder), beside}) {
      if (!file_exists(workloads)) continue;
      KW_TRY(std::string text, text::read_text(workloads, text::kMaxDataFile));
      return assemble(std::move(definition), {file, workloads, policy}, text, folder);
    }
    KW_TRY(Found found, found_by_name(folder / "workloads", definition.name));
    if (!found.lines.empty()) {
      return assemble(std::move(definition), {file, found.file, policy}, found.lines, folder);
    }
    if (!folder.has_relative_path()) break;
  }
  return fail(ErrorCode::kNotFound,
              "{}: no workloads: looked for {} beside it, and for workloads/{}/{}, workloads/{}, "
              "workloads.jsonl and files in workloads/ that name the definition, in its folder and "
              "the {} above",
              file.string(), beside.filename().string(), definition.op_type, lines, lines,
              kFoldersAbove);
}

}  // namespace kw::task
