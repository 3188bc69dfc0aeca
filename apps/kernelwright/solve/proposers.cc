#include "kernelwright/solve/proposers.h"

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/model/server_settings.h"
#include "search/engine_proposer.h"
#include "search/recorded.h"
#include "search/server_proposer.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

using Made = Result<std::unique_ptr<search::Proposer>>;

constexpr const char* kKinds = "writer, model, both and recorded";

std::string name_of(const std::string& folder) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(folder, ignored);
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

Made make_engine(const SolveCommand& command, const Services& services) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(command.model) / "config.json", ignored))
    return fail(ErrorCode::kNotFound,
                "--model {}: no Hugging Face folder is there (config.json is missing)",
                printable(command.model, 300));
  Json settings = {{"model", command.model}, {"socket", os::ChildProgram::kSocket}};
  add_to(settings, command.engine);
  const std::vector<std::string> argv = {(services.program_folder / "kernelwright-lm").string(),
                                         "serve", settings.dump()};
  auto start = [program = services.start_program, argv] { return program(argv); };
  const search::Sampling sampling{command.temperature, command.top_p, command.max_tokens};
  KW_TRY(auto engine,
         search::EngineProposer::start(start, name_of(command.model), sampling, services.stop));
  return engine;
}

Made make_server(const SolveCommand& command, const Services& services, const text::Usage& spent) {
  KW_TRY_STATUS(check_range("--slots", command.engine.slots, 1, 1024));
  KW_TRY(openai::ChatSettings settings,
         server_settings(command.server, command.model, command.engine.slots, services));
  settings.budget.spent_cost = spent.cost_usd;
  settings.budget.spent_tokens = spent.tokens();
  KW_TRY(openai::ChatClient client, openai::ChatClient::make(settings));
  KW_TRY(std::string model, model_name(client, command.server.model_name, services.stop));
  const search::Sampling sampling{command.temperature, command.top_p, command.max_tokens};
  KW_TRY(auto server,
         search::ServerProposer::make(std::move(settings), std::move(model), sampling));
  return server;
}

Made make_model(const SolveCommand& command, const Services& services, const text::Usage& spent) {
  if (command.model.empty())
    return fail(
        ErrorCode::kInvalidArgument,
        "--proposer {} needs --model, a Hugging Face folder, or the URL or the address file of a "
        "server",
        proposer_kind(command));
  if (is_server(command.model)) return make_server(command, services, spent);
  return make_engine(command, services);
}

Made make_writer(const SolveCommand& command, search::WriterProposer::Trace trace) {
  return std::make_unique<search::WriterProposer>(std::move(trace),
                                                  command.search.language_value());
}

Made make_recorded(const SolveCommand& command) {
  if (command.answers.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--proposer recorded needs --answers, a .jsonl or the folder of a run");
  KW_TRY(auto recorded, search::RecordedProposer::load(command.answers));
  return recorded;
}

}  // namespace

std::string proposer_kind(const SolveCommand& command) {
  if (!command.proposer.empty()) return command.proposer;
  if (!command.answers.empty()) return "recorded";
  return command.model.empty() ? "writer" : "model";
}

Made make_proposer(const SolveCommand& command, const Services& services,
                   search::WriterProposer::Trace trace, const text::Usage& spent) {
  const std::string kind = proposer_kind(command);
  if (kind != "recorded" && !command.answers.empty())
    return fail(ErrorCode::kInvalidArgument, "--answers goes with --proposer recorded");
  if (kind != "model" && kind != "both" && !command.model.empty())
    return fail(ErrorCode::kInvalidArgument, "--model goes with --proposer model or both");
  if (kind == "recorded") return make_recorded(command);
  if (kind == "model") return make_model(command, services, spent);
  if (kind == "writer") return make_writer(command, std::move(trace));
  if (kind == "both") {
    KW_TRY(auto writer, make_writer(command, std::move(trace)));
    KW_TRY(auto model, make_model(command, services, spent));
    return search::alternate(std::move(writer), std::move(model));
  }
  return fail(ErrorCode::kInvalidArgument, "--proposer: unknown \"{}\"; there are {}",
              printable(kind, 40), kKinds);
}

}  // namespace kw::front
