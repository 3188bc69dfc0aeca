#include "search/messages.h"

#include "base/text.h"
#include "prompt/extract.h"

namespace kw::search {
namespace {

constexpr std::size_t kMaxFeedback = 6000;  // bytes

std::string findings(const task::Verdict& verdict) {
  std::string out = fmt::format("Outcome: {}{}{}.\n", task::to_string(verdict.outcome),
                                verdict.violation.empty() ? "" : " ", verdict.violation);
  if (verdict.speedup)
    out += fmt::format("Speedup over the reference: {:.3g} ({:.3g} to {:.3g}).\n",
                       verdict.speedup->median, verdict.speedup->low, verdict.speedup->high);
  for (const task::Diagnostic& diagnostic : verdict.diagnostics)
    out += fmt::format("{}: {}\n", diagnostic.kind, diagnostic.message);
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    for (const task::Diagnostic& diagnostic : workload.diagnostics)
      out += fmt::format("{}: {}\n", diagnostic.kind, diagnostic.message);
  }
  return printable(out, kMaxFeedback);
}

}  // namespace

Result<Prompt> base_prompt(const Asking& asking) {
  KW_TRY(std::string text,
         prompt::problem_prompt(asking.problem, asking.signature, asking.language, asking.options));
  return Prompt{"problem-1", {{"user", std::move(text)}}};
}

Result<Prompt> refine_prompt(const Asking& asking, const Parent& parent) {
  KW_TRY(Prompt out, base_prompt(asking));
  const task::SourceFile* source = parent.candidate.entry_source();
  out.template_id += "+refine-1";
  out.messages[0].content += fmt::format(
      "\n# Previous attempt\n```{}\n{}\n```\n\n# What was found\n{}\nImprove it.\n",
      prompt::fence_tag(asking.language), source == nullptr ? "" : trim(source->content),
      parent.verdict ? findings(*parent.verdict) : "It could not be judged.\n");
  return out;
}

std::string messages_text(const std::vector<link::Message>& messages) {
  Json out = Json::array();
  for (const link::Message& message : messages)
    out.push_back({{"role", message.role}, {"content", message.content}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<link::Message>> messages_from_text(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  std::vector<link::Message> out;
  for (const Json& entry : value) {
    KW_TRY(ObjectReader reader, ObjectReader::make(entry, "messages"));
    link::Message message;
    KW_TRY(message.role, reader.string("role"));
    KW_TRY(message.content, reader.string("content"));
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace kw::search
