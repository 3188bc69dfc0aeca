#include "kernelwright/data/teach.h"

#include <utility>

#include "base/text.h"
#include "data/teach.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/error_text.h"
#include "kernelwright/json_line.h"
#include "kernelwright/model/server_settings.h"
#include "kernelwright/progress.h"
#include "text/text_file.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

Result<data::TeachSettings> settings_of(const DataTeachCommand& command) {
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  data::TeachSettings out;
  out.temperature = command.temperature;
  out.top_p = command.top_p;
  out.max_tokens = command.max_tokens;
  out.answers = command.answers;
  out.concurrency = command.slots;
  out.again = command.again;
  out.reasoning = command.with_reasoning;
  out.most_failures = command.most_failures;
  KW_TRY(out.seed, parse_seed(command.seed));
  if (command.docs_for != "pairs" && command.docs_for != "all")
    return fail(ErrorCode::kInvalidArgument, "--docs-for: expected pairs or all, not \"{}\"",
                printable(command.docs_for, 40));
  if (command.docs.empty()) return out;
  auto text = text::read_text(command.docs, text::kMaxSourceFile);
  if (!text) return tl::unexpected(std::move(text).error().with_context("--docs"));
  out.documentation = std::move(*text);
  out.docs = command.docs_for == "pairs" ? data::Docs::kPairs : data::Docs::kOnly;
  return out;
}

std::string summary_of(const DataTeachCommand& command, const data::TeachReport& report,
                       bool priced) {
  std::string out =
      fmt::format("questions   {}\nanswered    {}\n", report.questions, report.answered);
  const auto line = [&out](const char* name, std::uint64_t count, const char* what) {
    if (count > 0) out += fmt::format("  {:<9} {}{}\n", name, count, what);
  };
  line("earlier", report.earlier, "");
  line("truncated", report.truncated, ", not written");
  line("empty", report.empty, ", not written");
  line("echoes", report.echoes, ", not written: the chat template is probably not the model's");
  line("filtered", report.filtered, ", not written");
  line("too large", report.too_large, ", not written");
  if (report.refused > 0) out += fmt::format("refused     {}\n", report.refused);
  out += fmt::format("tokens      {} of prompts, {} of answers\n", report.prompt_tokens,
                     report.completion_tokens);
  if (priced) out += fmt::format("cost        {:.6g}\n", report.cost);
  if (report.client.retries > 0) out += fmt::format("retries     {}\n", report.client.retries);
  return out + fmt::format("samples     {}\nwritten     {}\n", report.written, command.out);
}

}  // namespace

Result<int> run_data_teach(const DataTeachCommand& command, const Services& services) {
  if (!is_server(command.model))
    return fail(ErrorCode::kInvalidArgument,
                "--model: expected a URL, http://..., or an address file, FILE.json (kernelwright "
                "serve-model serves a folder)");
  KW_TRY(data::TeachSettings settings, settings_of(command));
  KW_TRY(fs::path log, session_log(command.log, command.out, command.resume));
  KW_TRY(data::OutputFile out, data::OutputFile::create(command.out, command.replace));
  KW_TRY(openai::ChatSettings server,
         server_settings(command.server, command.model, command.slots, services));
  const bool priced = server.prices.prompt > 0 || server.prices.completion > 0;
  {
    KW_TRY(openai::ChatClient asked, openai::ChatClient::make(server));
    KW_TRY(settings.model, model_name(asked, command.server.model_name, services.stop));
  }
  ProgressView progress(services.console, services.now, "usable");
  data::TeachEvents events;
  events.begin = [&](std::uint64_t to_ask, std::uint64_t earlier) {
    progress.begin(to_ask + earlier, earlier, earlier);
  };
  events.answered = [&](bool usable) { progress.counted(usable); };
  events.failed = [&](const std::string& key, const Error& error) {
    progress.failed();
    progress.clear();
    services.console.err(fmt::format("{}: {}\n", key.substr(0, 16), one_line(error.message())));
  };
  auto report =
      data::teach_dataset(command.in, log, out, settings, std::move(server), events, services.stop);
  progress.clear();
  if (!report) return tl::unexpected(std::move(report).error());
  KW_TRY_STATUS(out.close());
  KW_TRY_STATUS(services.console.out(command.json ? json_line(to_json(*report))
                                                  : summary_of(command, *report, priced)));
  return 0;
}

}  // namespace kw::front
