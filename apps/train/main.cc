// kernelwright-train: trains language models. The only program that links torch; ./kernelwright
// builds and starts it for `sft`, `distill` and `rl`.
// exit: 0 trained, 2 an error, 130 stopped with a checkpoint.
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
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
        "sampled, {} sampling, {} judging, {} training",
        p.step, p.sampled.reward, p.result.entropy, p.result.gradient_norm, p.result.clip_share,
        p.result.mismatch_largest,
        kw::short_count(static_cast<std::int64_t>(p.sampled_per_second())),
        kw::format_ms(p.sample_seconds * 1000), kw::format_ms(p.judge_seconds * 1000),
        kw::format_ms(p.train_seconds * 1000));
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

struct Command {
  std::string config;
  std::vector<std::string> set;
  bool resume = false, plan = false;
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

// A command that trains on rows: what reads its settings, says its plan, and trains.
template <typename Settings>
kw::Result<int> run_rows(const Command& command,
                         kw::Result<Settings> (*read)(const kw::Json&,
                                                      const std::vector<std::string>&),
                         kw::Result<std::string> (*describe)(const Settings&),
                         kw::Result<std::filesystem::path> (*train)(const Settings&, bool,
                                                                    const std::atomic<bool>&,
                                                                    kw::train::SftObserver&)) {
  KW_TRY(const kw::Json value, config_of(command));
  KW_TRY(const Settings settings, read(value, command.set));
  if (command.plan) {
    KW_TRY(const std::string text, describe(settings));
    fmt::print("{}", text);
    return 0;
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  Console console;
  KW_TRY(const std::filesystem::path last, train(settings, command.resume, stop_asked, console));
  return end_of_run(console, last);
}

kw::Result<int> run_sft(const Command& command) {
  return run_rows(command, kw::train::sft_settings, kw::train::describe_sft, kw::train::run_sft);
}

kw::Result<int> run_distill(const Command& command) {
  return run_rows(command, kw::train::distill_settings, kw::train::describe_distill,
                  kw::train::run_distill);
}

kw::Result<int> run_rl(const Command& command) {
  KW_TRY(const kw::Json value, config_of(command));
  KW_TRY(const kw::train::RlSettings settings, kw::train::rl_settings(value, command.set));
  if (command.plan) {
    KW_TRY(const std::string text, kw::train::describe_rl(settings));
    fmt::print("{}", text);
    return 0;
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  Console console;
  const SignalledStop stop;
  KW_TRY(const std::filesystem::path last,
         kw::train::run_rl(settings, command.resume, stop.token(), console));
  return end_of_run(console, last);
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
  CLI::App* rl =
      add_command(app, command, "rl", "reinforcement learning of a model in an environment");
  rl->footer([] {
    return help_of_settings(kw::train::to_json(kw::train::RlSettings{}),
                            "the table [rl] of the TOML file");
  });
  CLI11_PARSE(app, argc, argv);
  kw::Result<int> code = *rl ? run_rl(command) : *distill ? run_distill(command) : run_sft(command);
  if (code) return *code;
  fmt::print(stderr, "error: {}\n", code.error().message());
  return kw::exit_code(code.error().code());
}
