#include "kernelwright/solve/solve.h"

#include <algorithm>
#include <set>
#include <thread>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/json_line.h"
#include "kernelwright/judge_choice.h"
#include "kernelwright/model/server_settings.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/prompt_machine.h"
#include "kernelwright/solve/card.h"
#include "kernelwright/solve/plan.h"
#include "kernelwright/solve/problems.h"
#include "kernelwright/solve/proposers.h"
#include "kernelwright/solve/run_settings.h"
#include "kernelwright/solve/view.h"
#include "kernelwright/timestamp.h"
#include "kernelwright/traced_graph.h"
#include "prompt/templates.h"
#include "search/solver.h"
#include "search/stop_rules.h"
#include "task/flags.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

using runlog::End;

constexpr std::size_t kPromptFrame = 5000;  // bytes of a prompt beside the reference; an estimate
constexpr double kWriterSeconds = 60;       // of a problem, where nothing says when to stop

// Paths that a resumed run must find again, wherever it is started.
std::string absolute(const std::string& path) {
  std::error_code ignored;
  fs::path whole = fs::absolute(path, ignored);
  return ignored ? path : whole.lexically_normal().string();
}

// The options that --resume leaves open.
Status check_given(const SolveCommand& command) {
  if (command.run.empty())
    return fail(ErrorCode::kInvalidArgument, "--resume needs --run, the folder of the run");
  static const std::set<std::string> kAllowed = {"--resume", "--run", "--json", "--judge"};
  for (const std::string& flag : command.given) {
    if (kAllowed.contains(flag)) continue;
    return fail(ErrorCode::kInvalidArgument,
                "--resume goes on with the settings in {}/run.toml: leave out {}", command.run,
                flag);
  }
  return {};
}

int cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// A limit that nothing would ever reach is refused.
Status check_cost(const SolveCommand& command) {
  // Recorded answers say what they cost.
  if (command.search.cost_usd <= 0 || proposer_kind(command) == "recorded") return {};
  if (!is_server(command.model))
    return fail(ErrorCode::kInvalidArgument,
                "--cost: the {} costs nothing that could be counted; --samples, --tokens, "
                "--seconds and --total-seconds are limits",
                command.model.empty() ? "writer" : "local model");
  if (is_priced(command.server)) return {};
  return fail(ErrorCode::kInvalidArgument,
              "--cost needs --prompt-price or --completion-price: without them what an answer "
              "costs is not known");
}

bool says_when_to_stop(const SolveCommand& command) {
  static const std::set<std::string> kStops = {"--samples", "--first-correct", "--target-speedup",
                                               "--tokens",  "--seconds",       "--total-seconds"};
  return std::any_of(command.given.begin(), command.given.end(),
                     [](const std::string& flag) { return kStops.contains(flag); });
}

Status complete(SolveCommand& command, const Services& services) {
  KW_TRY_STATUS(complete_options(command.baseline, command.set, command.eval));
  command.search.target = command.eval.target;
  // The writer learns from what its kernels' neighbours got.
  const std::string kind = proposer_kind(command);
  if (command.search.method.empty())
    command.search.method = kind == "writer" || kind == "both" ? "refine" : "best_of_n";
  if (kind == "writer" && !command.resume && !says_when_to_stop(command))
    command.search.seconds = kWriterSeconds;
  KW_TRY_STATUS(search::resolve(command.search, cores()));
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  KW_TRY(command.problem, locate_problem(services, command.problem));
  command.problem = absolute(command.problem);
  if (!command.answers.empty()) command.answers = absolute(command.answers);
  if (!command.verdicts.empty()) command.verdicts = absolute(command.verdicts);
  if (!command.model.empty() && !is_server_url(command.model))
    command.model = absolute(command.model);
  return {};
}

// ./runs where there is one, else the user's data folder.
fs::path new_run_folder(const Services& services) {
  std::error_code ignored;
  const fs::path above =
      fs::is_directory("runs", ignored) ? fs::path("runs") : services.data_folder / "runs";
  const std::string name = "solve-" + name_of_time(services.wall_time());
  fs::path out = above / name;
  for (int number = 2; fs::exists(out, ignored); ++number)
    out = above / fmt::format("{}-{}", name, number);
  return out;
}

Result<prompt::PromptOptions> prompt_options(const SolveCommand& command,
                                             const Services& services) {
  prompt::PromptOptions out;
  out.target = command.eval.target;
  out.threads = command.eval.threads;
  out.build_flags = services.build_flags;
  out.optional_flags = task::allowed_flags();
  KW_TRY(const prompt::Template chosen, prompt::template_named(command.search.prompt_template));
  KW_TRY(out.hardware,
         prompt_machine(chosen, command.search.machine, command.search.language_value(),
                        command.eval.target, command.eval.threads, services));
  return out;
}

PlanFacts plan_facts(const SolveCommand& command,
                     const std::vector<search::SearchProblem>& problems) {
  PlanFacts out;
  const std::string kind = proposer_kind(command);
  out.by_model = kind == "model" ? 1 : kind == "both" ? 0.5 : 0;
  out.proposer = kind;
  out.server_is_here = out.by_model > 0 && is_on_this_host(command.model);
  if (!command.model.empty()) out.proposer += ", " + command.model;
  if (!command.answers.empty()) out.proposer += ", " + command.answers;
  out.timed = command.eval.timing;
  out.max_seconds = command.eval.max_seconds;
  out.max_tokens = command.max_tokens;
  out.tokens_per_second = command.tokens_per_second;
  out.max_cost = command.server.max_cost;
  out.max_total_tokens = command.server.max_total_tokens;
  for (const search::SearchProblem& p : problems) {
    out.workloads.push_back(search::timed_workloads(p.problem, command.eval.target));
    out.prompt_bytes +=
        kPromptFrame + (p.problem.is_module() ? p.problem.module().source.size()
                                              : p.problem.definition().reference.size());
  }
  out.prompt_bytes /= problems.size();
  out.prompt_price = command.server.prompt_price;
  out.completion_price = command.server.completion_price;
  return out;
}

// One run, new or gone on with.
class SolveRun {
 public:
  SolveRun(const SolveCommand& command, const Services& services, Problems problems)
      : command_(command),
        services_(services),
        problems_(std::move(problems.read)),
        unread_(std::move(problems.unread)) {}

  Result<int> run() {
    KW_TRY(const prompt::PromptOptions asking, prompt_options(command_, services_));
    std::optional<runlog::RunFolder> folder;
    if (command_.resume) {
      KW_TRY(folder, resume());
    }
    gym::Judge* tracing = nullptr;  // there before the first proposal
    KW_TRY(auto proposer,
           make_proposer(
               command_, services_,
               [&tracing](const gym::TraceRequest& request, const std::stop_token& stop) {
                 return traced_graph(*tracing, request, stop);
               },
               spent()));
    gym::GymOptions gym;
    gym.isolation_at_least = command_.isolation_at_least;
    gym.jobs = command_.search.judges;
    gym.background = proposer->background();
    KW_TRY(auto judge, services_.start_judge(gym));
    tracing = judge.get();
    std::optional<search::RecordedJudge> recorded;
    if (!command_.verdicts.empty()) {
      KW_TRY(runlog::Run verdicts, runlog::RunFolder::read(command_.verdicts));
      recorded.emplace(command_.verdicts, verdicts, *judge);
    }
    // A new one begins when nothing is in its way.
    if (!folder) {
      KW_TRY(folder, runlog::RunFolder::create(command_.run, to_json(command_)));
    }
    SolveView view(services_.console, services_.now, *folder, command_.search,
                   services_.build_flags);
    search::SolverParts parts;
    parts.proposer = proposer.get();
    parts.judge = recorded ? &*recorded : judge.get();
    parts.observer = &view;
    parts.folder = &*folder;
    parts.prompt = asking;
    parts.eval = command_.eval;
    parts.now = services_.now;
    search::Solver solver(command_.search, problems_, parts, run_);
    Status status = solver.run(start_event(), services_.stop);
    view.clear();
    if (status) return print(folder->path(), true);
    // Problems that have ended are shown, whatever ended the rest. The reason for that comes last.
    static_cast<void>(print(folder->path(), false));
    return fail(status.error().code(), "{}; kernelwright solve --resume --run {} goes on",
                status.error().message(), folder->path().string());
  }

 private:
  Result<runlog::RunFolder> resume() {
    KW_TRY(runlog::RunFolder folder, runlog::RunFolder::resume(command_.run, run_));
    KW_TRY_STATUS(check_same(problems_, run_, command_.problem));
    return folder;
  }

  text::Usage spent() const {
    text::Usage out;
    for (const runlog::ProblemTree& tree : run_.problems) out += tree.usage();
    return out;
  }

  runlog::EventBody start_event() const {
    const std::string at = timestamp(services_.wall_time());
    const std::string hardware = services_.cpu_card(command_.eval.threads).name;
    if (command_.resume) return runlog::RunResumed{KW_VERSION, at, hardware};
    runlog::RunStarted out{KW_VERSION, gym::kGymVersion, at, "solve", to_json(command_),
                           {},         hardware};
    for (const search::SearchProblem& problem : problems_)
      out.problems.push_back({problem.key, problem.problem.name, problem.problem.hash});
    for (const Unread& one : unread_) out.unread.push_back({one.name, one.message});
    return out;
  }

  // all: every problem has ended; else those that have.
  Result<int> print(const fs::path& folder, bool all) const {
    bool failed = !unread_.empty(), none = false;
    for (const runlog::ProblemTree& tree : run_.problems) {
      if (!all && !tree.ended) continue;
      const End end = tree.ended ? tree.ended->end : End::kFailed;
      failed =
          failed || end == End::kFailed || end == End::kQuarantined || end == End::kUnsupported;
      none = none || tree.best() == nullptr;
      KW_TRY_STATUS(services_.console.out(
          command_.json ? json_line(solve_row(folder, tree))
                        : solve_card(folder, run_, tree, gym::name_of(command_.eval.baseline))));
    }
    for (const Unread& one : unread_)
      KW_TRY_STATUS(services_.console.out(command_.json ? json_line(solve_row(folder, one))
                                                        : solve_card(one)));
    if (!command_.json)
      KW_TRY_STATUS(services_.console.out(
          solve_summary(folder, run_, gym::name_of(command_.eval.baseline), unread_.size())));
    if (failed) return 2;
    return none ? 1 : 0;
  }

  const SolveCommand& command_;
  const Services& services_;
  const std::vector<search::SearchProblem> problems_;
  const std::vector<Unread> unread_;
  runlog::Run run_;
};

}  // namespace

Result<int> run_solve(SolveCommand command, const Services& services) {
  if (command.resume) {
    KW_TRY_STATUS(check_given(command));
    KW_TRY(Json settings, runlog::RunFolder::read_settings(command.run));
    KW_TRY(SolveCommand stored,
           solve_command_from_json(settings, (fs::path(command.run) / "run.toml").string()));
    stored.run = command.run;
    stored.resume = true;
    stored.json = command.json;
    stored.judge = command.judge;
    command = std::move(stored);
  } else {
    if (command.problem.empty())
      return fail(ErrorCode::kInvalidArgument,
                  "solve needs a PROBLEM or a data set; see kernelwright solve --help");
    if (command.run.empty()) command.run = new_run_folder(services).string();
  }
  const Services here = with_judge(services, command.judge, command.isolation_at_least);
  KW_TRY_STATUS(complete(command, services));
  if (!command.resume) KW_TRY_STATUS(check_cost(command));
  KW_TRY(Problems problems, read_problems(command.problem, command.set));
  for (const Unread& one : problems.unread)
    services.console.err(
        fmt::format("passed over {}: {}\n", printable(one.name, 100), printable(one.message, 400)));
  const std::string plan =
      plan_text(command.search, plan_facts(command, problems.read), command.run);
  if (command.plan) {
    KW_TRY_STATUS(services.console.out(plan));
    return 0;
  }
  services.console.err(plan);
  return SolveRun(command, here, std::move(problems)).run();
}

}  // namespace kw::front
