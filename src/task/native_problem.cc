// Definitions with their workloads and policy from disk.
#include "task/native_problem.h"

#include <system_error>

#include "base/text.h"
#include "task/definition_json.h"
#include "task/policy_json.h"
#include "task/policy_toml.h"
#include "task/text_file.h"
#include "task/workload_json.h"

namespace kw::task {
namespace fs = std::filesystem;
namespace {

constexpr int kFoldersAbove = 3;

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<Definition> definition_from_file(const fs::path& file) {
  KW_TRY(Json value, read_json(file, kMaxSourceFile));
  auto definition = definition_from_json(value, "");
  if (!definition) return tl::unexpected(std::move(definition).error().with_context(file.string()));
  return definition;
}

struct Files {
  fs::path definition, workloads, policy;  // the policy need not exist
};

Result<Problem> assemble(Definition definition, const Files& files, const fs::path& root) {
  Problem out;
  out.name = definition.name;
  KW_TRY(std::string lines, read_text(files.workloads, kMaxDataFile));
  KW_TRY(out.workloads, workloads_from_jsonl(lines, definition, files.workloads.string()));
  if (file_exists(files.policy)) {
    KW_TRY(std::string text, read_text(files.policy, kMaxSourceFile));
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

}  // namespace

Result<Problem> problem_from_folder(const fs::path& folder) {
  Files files{folder / "definition.json", folder / "workloads.jsonl", folder / "policy.toml"};
  KW_TRY(Definition definition, definition_from_file(files.definition));
  return assemble(std::move(definition), files, folder);
}

Result<Problem> problem_from_definition(const fs::path& file) {
  KW_TRY(Definition definition, definition_from_file(file));
  fs::path policy = file;
  policy.replace_extension(".policy.toml");
  std::error_code ignored;
  fs::path folder = fs::absolute(file, ignored).lexically_normal().parent_path();
  const std::string lines = definition.name + ".jsonl";
  for (int above = 0; above <= kFoldersAbove; ++above, folder = folder.parent_path()) {
    for (const fs::path& workloads : {folder / "workloads" / definition.op_type / lines,
                                      folder / "workloads" / lines, folder / "workloads.jsonl"}) {
      if (file_exists(workloads))
        return assemble(std::move(definition), {file, workloads, policy}, folder);
    }
    if (!folder.has_relative_path()) break;
  }
  return fail(ErrorCode::kNotFound,
              "{}: no workloads: looked for workloads/{}/{}, workloads/{} and workloads.jsonl in "
              "its folder and the {} above",
              file.string(), definition.op_type, lines, lines, kFoldersAbove);
}

}  // namespace kw::task
