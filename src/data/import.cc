#include "data/import.h"

#include <algorithm>
#include <utility>

#include "base/present.h"
#include "base/text.h"
#include "data/python_rename.h"
#include "prompt/chat.h"
#include "prompt/extract.h"
#include "prompt/templates.h"
#include "task/kernelbench.h"
#include "task/signature.h"
#include "text/names.h"
#include "text/python_scan.h"
#include "text/text_file.h"

namespace kw::data {
namespace {

bool has(const Json& row, const char* column) {
  auto found = row.find(column);
  return found != row.end() && !found->is_null();
}

// Reads the licences from the columns that data sets use for them.
std::vector<std::string> licences_of(const Json& row) {
  std::vector<std::string> out;
  for (const char* column : {"licenses", "licences", "license", "licence"}) {
    auto found = row.find(column);
    if (found == row.end()) continue;
    if (found->is_string() && !found->get_ref<const std::string&>().empty())
      out.push_back(found->get<std::string>());
    if (!found->is_array()) continue;
    for (const Json& one : *found) {
      if (one.is_string()) out.push_back(one.get<std::string>());
    }
  }
  return out;
}

// Every licence of a row must be wanted.
Status check_licences(const std::vector<std::string>& licences, const ImportOptions& options) {
  if (options.licences.empty()) return {};
  if (licences.empty()) return fail(ErrorCode::kPermissionDenied, "no licence");
  for (const std::string& licence : licences) {
    const bool wanted = std::any_of(options.licences.begin(), options.licences.end(),
                                    [&](const std::string& one) { return one == licence; });
    if (!wanted) return fail(ErrorCode::kPermissionDenied, "licence {}", printable(licence, 60));
  }
  return {};
}

Json origin_of(const Json& row, std::uint64_t number, const ImportOptions& options) {
  Json out = {{"dataset", options.dataset}, {"row", number}};
  for (const char* column : {"uuid", "repo_name", "repo_link", "sha", "level", "problem_id"}) {
    if (has(row, column)) out[column] = row[column];
  }
  if (auto licences = licences_of(row); !licences.empty()) out["licences"] = std::move(licences);
  return out;
}

std::string convert_question(const std::string& source, task::Language language) {
  // convert-1 says less of Triton than the other prompts do.
  const std::string_view title =
      language == task::Language::kTriton ? "Triton" : task::facts_of(language).title;
  return fmt::format(
             "Rewrite this PyTorch module in {}, as fast as you can. Define a class `ModelNew` "
             "whose "
             "constructor takes the same arguments as that of `Model`, whose parameters and "
             "buffers "
             "have the same names and shapes, and whose `forward` computes the same.\n\n",
             title) +
         prompt::fenced(source, "python") +
         fmt::format(
             "\nGive the whole code in one block, fenced with ```{} and ```. It is one file "
             "that imports what it needs, without tests or example calls.\n",
             prompt::fence_tag(language));
}

// The module's class becomes Model.
Result<std::string> kernelbench_source(const std::string& source, const std::string& entry_point) {
  const text::PythonScan scan(source);
  const auto& classes = scan.classes();
  if (std::find(classes.begin(), classes.end(), entry_point) == classes.end())
    return fail(ErrorCode::kInvalidArgument, "python_code defines no class {}",
                printable(entry_point, 80));
  std::map<std::string, std::string> names;
  if (entry_point != "Model") {
    if (uses_name(source, "Model")) {
      if (uses_name(source, "InnerModel"))
        return fail(ErrorCode::kInvalidArgument, "python_code has its own Model and InnerModel");
      names["Model"] = "InnerModel";
    }
    names[entry_point] = "Model";
  }
  return flat_init_inputs(rename_names(source, names), "Model");
}

Result<std::string> kernelbook_answer(const Json& row, const std::string& entry_point) {
  KW_TRY(ObjectReader reader, ObjectReader::make(row, ""));
  KW_TRY(std::string code, reader.string("triton_code"));
  const std::string entry = entry_point + "New";
  if (!uses_name(code, entry))
    return fail(ErrorCode::kInvalidArgument, "triton_code has no {}", printable(entry, 80));
  if (uses_name(code, "ModelNew") && entry != "ModelNew")
    return fail(ErrorCode::kInvalidArgument, "triton_code has a ModelNew and a {}",
                printable(entry, 80));
  code = rename_names(code, {{entry, "ModelNew"}});
  if (!prompt::defines_entry(code, "ModelNew", task::Language::kTriton))
    return fail(ErrorCode::kInvalidArgument, "triton_code does not define {}",
                printable(entry, 80));
  return prompt::fenced(code, prompt::fence_tag(task::Language::kTriton));
}

// The question of a problem whose interface is known, as it is written for generated ones too.
Status ask(const task::Problem& problem, const task::Signature& signature, Sample& out) {
  KW_TRY(prompt::Template chosen, prompt::template_named("zero_shot"));
  const auto language = task::language_from_string(out.language);
  KW_TRY(prompt::ChatPrompt question,
         prompt::chat_prompt(problem, signature, present(language), chosen));
  out.messages = std::move(question.messages);
  out.labels.other["template"] = question.template_id;
  return {};
}

Result<Sample> module_sample(const task::Problem& problem, const ImportOptions& options) {
  using task::Language;
  Sample out;
  out.kind = Kind::kConvert;
  out.language = task::to_string(options.language);
  out.group = problem.hash;
  KW_TRY(out.problem, sample_problem(problem));
  if (options.language == Language::kCpp && options.describe) {
    KW_TRY(const task::Signature signature, options.describe(problem));
    KW_TRY_STATUS(ask(problem, signature, out));
    return out;
  }
  if (options.language != Language::kTriton && options.language != Language::kPython &&
      options.language != Language::kCuda)
    return fail(ErrorCode::kUnsupported,
                "modules are asked for in triton, python, cuda or cpp, not in {}",
                task::to_string(options.language));
  out.messages = {{"user", convert_question(problem.module().source, options.language)}};
  out.labels.other["template"] = kConvertTemplate;
  return out;
}

bool is_in_file(const task::Workload& workload) {
  return std::any_of(workload.inputs.begin(), workload.inputs.end(), [](const auto& input) {
    return std::holds_alternative<task::SafetensorsInput>(input.second);
  });
}

Result<task::Problem> without_files(task::Problem problem) {
  if (problem.workloads.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: no workloads", printable(problem.name, 80));
  for (const task::Workload& workload : problem.workloads) {
    if (is_in_file(workload)) problem.policy.workloads.erase(workload.uuid);
  }
  if (std::erase_if(problem.workloads, is_in_file) == 0) return problem;
  if (problem.workloads.empty())
    return fail(ErrorCode::kUnsupported,
                "{}: every workload has inputs in files, and a sample stands alone",
                printable(problem.name, 80));
  problem.hash = task::problem_hash(problem);
  return problem;
}

Result<Sample> kernelbook_sample(const Json& row, const ImportOptions& options) {
  KW_TRY(ObjectReader reader, ObjectReader::make(row, ""));
  KW_TRY(std::string source, reader.string("python_code"));
  KW_TRY(std::string entry_point, reader.string("entry_point"));
  if (source.size() > text::kMaxSourceFile)
    return fail(ErrorCode::kInvalidArgument, "python_code: over {}",
                format_bytes(text::kMaxSourceFile));
  if (!text::is_identifier(entry_point))
    return fail(ErrorCode::kInvalidArgument, "entry_point: \"{}\" is not a class name",
                printable(entry_point, 80));
  KW_TRY(std::string rendered, kernelbench_source(source, entry_point));
  KW_TRY(task::Module module, task::make_module(rendered, "Model", {}));
  std::string name = entry_point;
  if (has(row, "uuid"))
    name += fmt::format(
        "_{}", row["uuid"].is_string() ? row["uuid"].get<std::string>() : row["uuid"].dump());
  KW_TRY_STATUS(text::check_title(name, "entry_point, uuid"));
  ImportOptions asked = options;
  if (options.answers) asked.language = task::Language::kTriton;
  KW_TRY(Sample out, module_sample(task::module_problem(name, std::move(module), ""), asked));
  if (options.answers) {
    KW_TRY(std::string answer, kernelbook_answer(row, entry_point));
    out.messages.push_back({"assistant", std::move(answer)});
  }
  out.labels.other["entry_point"] = entry_point;
  return out;
}

Result<std::vector<text::ChatMessage>> chat_messages(const Json& row) {
  std::vector<text::ChatMessage> out;
  KW_TRY(ObjectReader reader, ObjectReader::make(row, ""));
  if (!has(row, "messages")) {
    KW_TRY(std::string question, reader.string("prompt"));
    KW_TRY(std::string answer, reader.string("completion"));
    out = {{"user", std::move(question)}, {"assistant", std::move(answer)}};
    return out;
  }
  KW_TRY(const Json* list, reader.get("messages"));
  return prompt::messages_from_json(*list, text::OtherKeys::kIgnored);
}

Result<Sample> chat_sample(const Json& row, const ImportOptions& options) {
  Sample out;
  KW_TRY(out.messages, chat_messages(row));
  if (!options.answers && out.answered()) out.messages.pop_back();
  if (out.messages.empty()) return fail(ErrorCode::kInvalidArgument, "messages: no question");
  for (const text::ChatMessage& message : out.messages) {
    if (trim(message.content).empty() && message.role != "system")
      return fail(ErrorCode::kInvalidArgument, "messages: an empty {} message", message.role);
  }
  return out;
}

}  // namespace

Result<RowForm> form_of(const Json& row) {
  if (!row.is_object()) return fail(ErrorCode::kInvalidArgument, "expected an object");
  if (has(row, "python_code")) return RowForm::kKernelBook;
  if (has(row, "messages") || (has(row, "prompt") && has(row, "completion"))) return RowForm::kChat;
  if (has(row, "code")) return RowForm::kKernelBench;
  return fail(ErrorCode::kInvalidArgument,
              "expected columns python_code (KernelBook), code (KernelBench), messages, or prompt "
              "and completion");
}

Result<Sample> sample_of_row(const Json& row, std::uint64_t number, const ImportOptions& options) {
  KW_TRY(RowForm form, form_of(row));
  KW_TRY_STATUS(check_licences(licences_of(row), options));
  Result<Sample> out = [&]() -> Result<Sample> {
    if (form == RowForm::kKernelBook) return kernelbook_sample(row, options);
    if (form == RowForm::kChat) return chat_sample(row, options);
    KW_TRY(task::Problem problem, task::module_from_row(row, "", {}));
    return module_sample(problem, options);
  }();
  if (!out) return out;
  out->origin = origin_of(row, number, options);
  out->id = sample_id(*out);
  return out;
}

Result<Sample> question_about(const task::Problem& problem, const ImportOptions& options) {
  if (problem.is_module()) {
    KW_TRY(Sample out, module_sample(problem, options));
    out.origin = {{"dataset", options.dataset}, {"row", problem.name}};
    return out;
  }
  KW_TRY(const task::Problem alone, without_files(problem));
  KW_TRY(task::Signature signature,
         task::signature_of(alone.definition(), alone.workloads[0], alone.policy.statics));
  Sample out;
  out.kind = Kind::kDefinition;
  out.language = task::to_string(options.language);
  KW_TRY_STATUS(ask(alone, signature, out));
  out.group = alone.hash;
  KW_TRY(out.problem, sample_problem(alone));
  out.origin = {{"dataset", options.dataset}, {"row", problem.name}};
  return out;
}

std::size_t workloads_in_files(const task::Problem& problem) {
  return static_cast<std::size_t>(
      std::count_if(problem.workloads.begin(), problem.workloads.end(), is_in_file));
}
Result<Sample> answer_to(const task::Problem& problem, const task::Candidate& solution,
                         ImportOptions options) {
  options.language = solution.language;
  KW_TRY(Sample out, question_about(problem, options));
  std::string answer;
  for (const task::SourceFile& file : solution.sources) {
    if (!answer.empty()) answer += "\n";
    if (solution.sources.size() > 1) answer += fmt::format("`{}`\n", file.path);
    answer += prompt::fenced(file.content, prompt::fence_tag(solution.language));
  }
  out.messages.push_back({"assistant", std::move(answer)});
  out.origin["solution"] = solution.name;
  if (!solution.author.empty()) out.origin["author"] = solution.author;
  return out;
}

}  // namespace kw::data
