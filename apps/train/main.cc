// kernelwright-train: trains language models. The only program that links torch; ./kernelwright
// builds and starts it for `sft`, `distill` and `rl`.
// With several ranks (--ranks, torchrun, Slurm) each is such a process, and rank 0 alone prints.
// exit: 0 trained, 2 an error, 130 stopped with a checkpoint.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "os/file.h"
#include "text/toml.h"
#include "train/parallel/group.h"
#include "train/parallel/launch.h"
#include "train/parallel/start_ranks.h"
#include "train/rl/rl.h"
#include "train/rl/rl_plan.h"
#include "train/run/sft.h"

namespace {

using kw::ErrorCode;

std::atomic<bool> stop_asked{false};

// A stop token of the signals' flag: a thread looks at it, as a signal may not stop a token itself.
class SignalledStop {
 public:
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watch_{[this](const std::stop_token& over) {
    while (!over.stop_requested() && !stop_asked)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (stop_asked) source_.request_stop();
  }};
};

// The first signal lets the step end and saves; the second one ends the process.
void on_signal(int number) {
  stop_asked = true;
  std::signal(number, SIG_DFL);
}

// Talks on stderr: a line a step, over the one before where that is a terminal.
class Console : public kw::train::SftObserver, public kw::train::RlObserver {
 public:
  void said(const std::string& line) override {
    fmt::print(stderr, "{}{}\n", std::exchange(open_, false) ? "\n" : "", line);
  }
  void stepped(const kw::train::SftProgress& p) override {
    std::string line = fmt::format(
        "step {} loss {:.4f} norm {:.3f} rate {:.2e} {} tokens/s {:.1f} GFLOP/s, {} left", p.step,
        p.result.loss, p.result.gradient_norm, p.learning_rate,
        kw::short_count(static_cast<std::int64_t>(p.tokens_per_second)), p.flop_per_second / 1e9,
        kw::format_ms(p.seconds_left * 1000));
    if (p.result.divergence) line += fmt::format(", divergence {:.4f}", *p.result.divergence);
    if (p.validation_loss)
      line += fmt::format(", validation {:.4f} ({:.5f} nats a byte)", *p.validation_loss,
                          *p.validation_nats_per_byte);
    if (p.validation_divergence)
      line += fmt::format(", its divergence {:.4f}", *p.validation_divergence);
    if (p.too_long > 0) line += fmt::format(", {} samples too long", p.too_long);
    const bool terminal = isatty(STDERR_FILENO) == 1 && !p.validation_loss;
    show(line, terminal);
  }
  void stepped(const kw::train::RlProgress& p) override {
    std::string line = fmt::format(
        "step {} reward {:.4f} entropy {:.3f} norm {:.3f} clipped {:.3f} gap {:.1e}, {} tokens/s "
        "sampled, {} sampling, {} training, {} waiting for judges, {} standing still; {} judging, "
        "{} of it beside",
        p.step, p.sampled.reward, p.result.entropy, p.result.gradient_norm, p.result.clip_share,
        p.result.mismatch_largest,
        kw::short_count(static_cast<std::int64_t>(p.sampled_per_second())),
        kw::format_ms(p.sample_seconds * 1000), kw::format_ms(p.train_seconds * 1000),
        kw::format_ms(p.wait_seconds * 1000), kw::format_ms(p.still_seconds * 1000),
        kw::format_ms(p.judge_seconds * 1000), kw::format_ms(p.overlap_seconds() * 1000));
    if (p.staleness.largest > 0) line += fmt::format(", staleness {:.2f}", p.staleness.mean);
    if (p.without_reward > 0)
      line += fmt::format(", {} without a reward ({})", p.without_reward,
                          kw::printable(p.failure, 200));
    show(line, isatty(STDERR_FILENO) == 1 && p.without_reward == 0);
  }
  void evaluated(const kw::Json& row) override {
    auto number = [&row](const char* key) {
      return row[key].is_number() ? fmt::format("{:.4f}", row[key].get<double>()) : "unknown";
    };
    said(fmt::format("held out after step {}: reward {}, correct {}, log-speedup {}",
                     row["step"].get<std::int64_t>(), number("reward"), number("correct"),
                     number("log_speedup")));
  }
  void saved(const std::filesystem::path& checkpoint) override {
    said("saved " + checkpoint.string());
  }

 private:
  // over: the next line takes this one's place.
  void show(const std::string& line, bool over) {
    fmt::print(stderr, "{}{}{}", over ? "\r\033[K" : "", line, over ? "" : "\n");
    open_ = over;
  }

  bool open_ = false;  // the cursor stands behind a line
};

// Ranks other than 0 say nothing.
class Silence : public kw::train::SftObserver, public kw::train::RlObserver {
 public:
  void said(const std::string& /*line*/) override {}
  void stepped(const kw::train::SftProgress& /*progress*/) override {}
  void stepped(const kw::train::RlProgress& /*progress*/) override {}
  void evaluated(const kw::Json& /*row*/) override {}
  void saved(const std::filesystem::path& /*checkpoint*/) override {}
};

struct Command {
  std::string config;
  std::vector<std::string> set;
  bool resume = false, plan = false;
  int ranks = 0;  // that are started here; 0: the environment says which rank this process is
};

kw::Result<kw::Json> config_of(const Command& command) {
  if (command.config.empty()) return kw::Json::object();
  KW_TRY(const std::string text, kw::os::read_file(command.config));
  return kw::text::json_from_toml(text, command.config);
}

// last: the last checkpoint.
int end_of_run(Console& console, const std::filesystem::path& last) {
  fmt::print("{}\n", last.string());
  if (stop_asked) {
    console.said("stopped; the same command with --resume goes on");
    return 130;
  }
  console.said("next: kernelwright generate --model " + last.string());
  return 0;
}

// A process that starts ranks is none of them.
kw::Result<kw::train::Launch> launch_of(const Command& command) {
  KW_TRY(kw::train::Launch out, kw::train::launch_of(kw::train::process_variables()));
  if (command.ranks > 0 && out.size > 1)
    return kw::fail(ErrorCode::kInvalidArgument,
                    "--ranks: this process is rank {} of {} already, by torchrun's or Slurm's "
                    "variables; leave out one of both",
                    out.rank, out.size);
  return out;
}

// Before a GPU is looked for: each rank sees its own as the only one.
kw::Status choose_gpu(const kw::train::Launch& launch) {
  if (launch.size == 1) return {};
  KW_TRY(const std::string gpu,
         kw::train::visible_gpu(launch, kw::train::process_variables()("CUDA_VISIBLE_DEVICES")));
  setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), 1);
  return {};
}

int said_error(const kw::Error& error) {
  fmt::print(stderr, "error: {}\n", error.message());
  return kw::exit_code(error.code());
}

void listen_to_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

// train: of a rank that has met the others; gets an Observer and the group.
template <typename Observer, typename Train>
kw::Result<int> run_rank(const kw::train::Launch& launch, double rank_seconds, const Train& train) {
  KW_TRY_STATUS(choose_gpu(launch));
  listen_to_signals();
  KW_TRY(const std::unique_ptr<kw::train::Group> group,
         kw::train::Group::join(
             launch, std::chrono::milliseconds(static_cast<std::int64_t>(rank_seconds * 1000))));
  Console console;
  Silence silence;
  Observer* const observer = group->is_root() ? static_cast<Observer*>(&console) : &silence;
  const kw::Result<std::filesystem::path> last = train(*observer, *group);
  if (last) return group->is_root() ? end_of_run(console, *last) : stop_asked ? 130 : 0;
  return group->speaks() ? said_error(last.error()) : kw::exit_code(last.error().code());
}

// One rank of those that torchrun or Slurm started, or all of --ranks. run: of a rank.
template <typename Run>
kw::Result<int> run_ranks(const Command& command, const kw::train::Launch& launch, const Run& run) {
  if (command.ranks <= 1) return run(launch);
  listen_to_signals();
  return kw::train::start_ranks(command.ranks, stop_asked, [&](const kw::train::Launch& one) {
    const kw::Result<int> code = run(one);
    return code ? *code : said_error(code.error());
  });
}

// A command that trains on rows: what reads its settings, says its plan, and trains.
template <typename Settings>
kw::Result<int> run_rows(const Command& command, const Settings& settings, double rank_seconds,
                         kw::Result<std::string> (*describe)(const Settings&, int),
                         kw::Result<std::filesystem::path> (*train)(const Settings&, bool,
                                                                    const std::atomic<bool>&,
                                                                    kw::train::SftObserver&,
                                                                    kw::train::Group&)) {
  KW_TRY(const kw::train::Launch launch, launch_of(command));
  if (command.plan) {
    if (launch.rank > 0) return 0;
    KW_TRY(const std::string text, describe(settings, std::max(command.ranks, launch.size)));
    fmt::print("{}", text);
    return 0;
  }
  const auto run = [&](const kw::train::Launch& one) {
    return run_rank<kw::train::SftObserver>(
        one, rank_seconds, [&](kw::train::SftObserver& observer, kw::train::Group& group) {
          return train(settings, command.resume, stop_asked, observer, group);
        });
  };
  return run_ranks(command, launch, run);
}

kw::Result<int> run_sft(const Command& command) {
  KW_TRY(const kw::Json value, config_of(command));
  KW_TRY(const auto settings, kw::train::sft_settings(value, command.set));
  return run_rows(command, settings, settings.rank_seconds, kw::train::describe_sft,
                  kw::train::run_sft);
}

kw::Result<int> run_distill(const Command& command) {
  KW_TRY(const kw::Json value, config_of(command));
  KW_TRY(const auto settings, kw::train::distill_settings(value, command.set));
  return run_rows(command, settings, settings.rows.rank_seconds, kw::train::describe_distill,
                  kw::train::run_distill);
}

kw::Result<int> run_rl(const Command& command) {
  KW_TRY(const kw::train::Launch launch, launch_of(command));
  KW_TRY(const kw::Json value, config_of(command));
  KW_TRY(const kw::train::RlSettings settings, kw::train::rl_settings(value, command.set));
  if (command.plan) {
    if (launch.rank > 0) return 0;
    KW_TRY(const std::string text, kw::train::describe_rl(settings));
    fmt::print("{}", text);
    return 0;
  }
  const auto run = [&](const kw::train::Launch& one) {
    return run_rank<kw::train::RlObserver>(
        one, settings.rank_seconds, [&](kw::train::RlObserver& observer, kw::train::Group& group) {
          const SignalledStop stop;
          return kw::train::run_rl(settings, command.resume, stop.token(), observer, group);
        });
  };
  return run_ranks(command, launch, run);
}

// where: what the file has before the settings.
std::string help_of_settings(const kw::Json& defaults, const std::string& where) {
  std::string out = fmt::format(
      "Settings, in {} of --config or as --set key=value (docs/training.md), with defaults:\n",
      where);
  for (const auto& [key, value] : defaults.items())
    out += fmt::format("  {} = {}\n", key, value.dump());
  return out;
}

CLI::App* add_command(CLI::App& app, Command& command, const std::string& name,
                      const std::string& about) {
  CLI::App* out = app.add_subcommand(name, about);
  out->add_option("--config", command.config, "TOML file of settings");
  out->add_option("--set", command.set, "key=value; repeatable, wins over the file")
      ->type_size(1)
      ->allow_extra_args(false);
  out->add_flag("--plan", command.plan, "print memory, work and time, and train nothing");
  out->add_flag("--resume", command.resume, "go on from the run's newest checkpoint");
  return out;
}

void add_ranks(CLI::App& command, Command& into) {
  command
      .add_option("--ranks", into.ranks,
                  "train in so many processes of this machine, one a GPU or sharing the cores; "
                  "torchrun and srun start ranks too")
      ->check(CLI::Range(1, 512));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains language models", "kernelwright");
  app.require_subcommand(1);
  Command command;
  CLI::App* sft =
      add_command(app, command, "sft", "supervised fine-tuning of a model on JSON Lines rows");
  sft->footer([] {
    return help_of_settings(kw::train::to_json(kw::train::SftSettings{}), "the TOML file");
  });
  CLI::App* distill = add_command(app, command, "distill",
                                  "trains a model on the distributions of a teacher on rows");
  distill->footer([] {
    return help_of_settings(kw::train::to_json(kw::train::DistillSettings{}), "the TOML file");
  });
  add_ranks(*sft, command);
  add_ranks(*distill, command);
  CLI::App* rl =
      add_command(app, command, "rl", "reinforcement learning of a model in an environment");
  add_ranks(*rl, command);
  rl->footer([] {
    return help_of_settings(kw::train::to_json(kw::train::RlSettings{}),
                            "the table [rl] of the TOML file");
  });
  CLI11_PARSE(app, argc, argv);
  kw::Result<int> code = *rl ? run_rl(command) : *distill ? run_distill(command) : run_sft(command);
  if (code) return *code;
  return said_error(code.error());
}
