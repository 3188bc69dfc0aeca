#include "kernelwright/model/remote_generate.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/model/server_settings.h"
#include "link/generate_request.h"
#include "link/prompts_file.h"
#include "openai/chat_client.h"

namespace kw::front {
namespace {

struct Task {
  Json id;  // null: none
  openai::ChatRequest request;
};

// Settings for which OpenAI's API has no field go under vLLM's names, and only if they are given.
Json extra_of(const link::GenerateRequest& from) {
  Json out = Json::object();
  if (from.top_k != 0) out["top_k"] = from.top_k;
  if (from.min_p != 0) out["min_p"] = from.min_p;
  if (from.ignore_end) out["ignore_eos"] = true;
  if (!from.stop_token_ids.empty()) out["stop_token_ids"] = from.stop_token_ids;
  if (!from.template_arguments.empty()) out["chat_template_kwargs"] = from.template_arguments;
  if (from.continue_final) {
    out["continue_final_message"] = true;
    out["add_generation_prompt"] = false;
  }
  return out;
}

Result<openai::ChatRequest> chat_request(const link::GenerateRequest& from,
                                         const std::string& where) {
  const auto* messages = std::get_if<std::vector<text::ChatMessage>>(&from.prompt);
  if (messages == nullptr)
    return fail(ErrorCode::kInvalidArgument, "{}: a server gets \"messages\", nothing else", where);
  if (from.logprobs || from.top_logprobs > 0)
    return fail(ErrorCode::kInvalidArgument, "{}: no logprobs from a server", where);
  if (from.max_tokens > 10'000'000)
    return fail(ErrorCode::kInvalidArgument, "{}: max_tokens is {}", where, from.max_tokens);
  openai::ChatRequest out;
  out.messages = *messages;
  out.temperature = from.temperature;
  out.top_p = from.top_p;
  out.max_tokens = static_cast<int>(from.max_tokens);
  out.seed = from.seed;
  out.stop = from.stop;
  out.n = from.n;
  out.extra = extra_of(from);
  return out;
}

Result<std::vector<Task>> tasks_of_file(const std::string& path,
                                        const link::GenerateRequest& settings) {
  KW_TRY(auto prompts, link::read_prompts_file(path, settings));
  std::vector<Task> out;
  for (link::FilePrompt& prompt : prompts) {
    Task task;
    task.id = std::move(prompt.id);
    KW_TRY(task.request, chat_request(prompt.request, prompt.where));
    task.request.tag = prompt.where;
    out.push_back(std::move(task));
  }
  return out;
}

Result<std::vector<Task>> tasks_of(const GenerateCommand& command, std::uint64_t seed) {
  if (!command.prompt.empty())
    return fail(ErrorCode::kInvalidArgument, "--prompt: a server is asked in chats; give --chat");
  KW_TRY_STATUS(check_range("--n", command.request.n, 1, 128));
  link::GenerateRequest settings = command.request;
  settings.seed = seed;
  if (!command.prompts.empty()) return tasks_of_file(command.prompts, settings);
  std::vector<text::ChatMessage> messages;
  if (!command.system.empty()) messages.push_back({"system", command.system});
  messages.push_back({"user", command.chat});
  settings.prompt = std::move(messages);
  Task task;
  KW_TRY(task.request, chat_request(settings, "--chat"));
  task.request.tag = "--chat";
  return std::vector<Task>{std::move(task)};
}

Json result_json(const Task& task, const openai::ChatAnswer& answer, bool priced) {
  Json out = Json::object();
  if (!task.id.is_null()) out["id"] = task.id;
  out["choices"] = Json::array();
  for (const openai::Choice& choice : answer.choices) {
    Json one = {{"index", choice.index}, {"text", choice.text}};
    if (!choice.reasoning.empty()) one["reasoning"] = choice.reasoning;
    one["finish_reason"] =
        choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason);
    if (choice.suspicion != openai::Suspicion::kNone)
      one["suspicion"] = to_string(choice.suspicion);
    out["choices"].push_back(std::move(one));
  }
  const text::Usage& usage = answer.usage;
  out["usage"] = {{"prompt_tokens", usage.prompt_tokens},
                  {"completion_tokens", usage.completion_tokens},
                  {"total_tokens", usage.tokens()},
                  {"estimated", usage.estimated}};
  out["model"] = answer.model;
  out["tries"] = answer.tries;
  if (priced) {
    out["cost"] = answer.cost;
    out["cost_estimated"] = !answer.cost_known;
  }
  return out;
}

std::string result_text(const openai::ChatAnswer& answer) {
  if (answer.choices.size() == 1) return answer.choices.front().text + "\n";
  std::string out;
  for (std::size_t i = 0; i < answer.choices.size(); ++i)
    out += fmt::format("--- {} of {}\n{}\n", i + 1, answer.choices.size(), answer.choices[i].text);
  return out;
}

// Workers ask; the caller's thread prints in order, each answer as soon as those before it are out.
class Asking {
 public:
  Asking(openai::ChatClient& client, const std::vector<Task>& tasks, std::stop_token stop)
      : client_(client), tasks_(tasks), slots_(tasks.size()) {
    forward_.emplace(std::move(stop), [this] { end_.request_stop(); });
  }
  ~Asking() { end_.request_stop(); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  void start(int workers) {
    const auto most = std::min<std::size_t>(static_cast<std::size_t>(workers), tasks_.size());
    for (std::size_t i = 0; i < most; ++i) workers_.emplace_back([this] { work(); });
  }

  Result<openai::ChatAnswer> take(std::size_t index) {
    std::unique_lock lock(mutex_);
    change_.wait(lock, [&] { return slots_[index].done; });
    return std::move(slots_[index].result);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < tasks_.size(); i = next_++) {
      auto result = client_.complete(tasks_[i].request, end_.get_token());
      std::lock_guard lock(mutex_);
      slots_[i] = {std::move(result), true};
      change_.notify_all();
    }
  }

  openai::ChatClient& client_;
  const std::vector<Task>& tasks_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable change_;
  struct Slot {
    Result<openai::ChatAnswer> result;
    bool done = false;
  };
  std::vector<Slot> slots_;  // by task
  std::stop_source end_;
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::vector<std::jthread> workers_;  // joined first
};

void say_summary(const openai::Counts& counts, bool priced, Console& console) {
  std::string text = fmt::format("{} answered, {} failed; {} tries; {} + {} tokens",
                                 counts.answered, counts.failed, counts.all_attempts(),
                                 counts.prompt_tokens, counts.completion_tokens);
  const std::int64_t estimated =
      counts.estimated_prompt_tokens + counts.estimated_completion_tokens;
  if (estimated > 0) text += fmt::format(" ({} of them estimated)", estimated);
  if (priced) text += fmt::format("; cost {:.6g}", counts.cost);
  console.err(text + "\n");
}

void say_suspicions(const openai::Counts& counts, Console& console) {
  if (counts.prompt_echoes + counts.template_tokens == 0) return;
  console.err(fmt::format(
      "{} of {} answers begin with the prompt and {} have a chat template's tokens in them: the "
      "server's chat template is probably not the model's\n",
      counts.prompt_echoes, counts.choices, counts.template_tokens));
}

}  // namespace

Result<int> run_remote_generate(const GenerateCommand& command, std::uint64_t seed,
                                const Services& services) {
  KW_TRY(std::vector<Task> tasks, tasks_of(command, seed));
  KW_TRY_STATUS(check_range("--slots", command.engine.slots, 1, 1024));
  KW_TRY(openai::ChatSettings settings,
         server_settings(command.server, command.model, command.engine.slots, services));
  const bool priced = settings.prices.prompt > 0 || settings.prices.completion > 0;
  KW_TRY(openai::ChatClient client, openai::ChatClient::make(std::move(settings)));
  KW_TRY(std::string name, model_name(client, command.server.model_name, services.stop));
  for (Task& task : tasks) task.request.model = name;
  const bool many = !command.prompts.empty();
  bool all_answered = true;
  Asking asking(client, tasks, services.stop);
  asking.start(command.engine.slots);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto answer = asking.take(i);
    if (!answer && (!many || answer.error().code() == ErrorCode::kCancelled))
      return tl::unexpected(std::move(answer).error());
    Json line;
    if (answer) {
      line = result_json(tasks[i], *answer, priced);
    } else {
      all_answered = false;
      if (!tasks[i].id.is_null()) line["id"] = tasks[i].id;
      line["error"] = {{"code", to_string(answer.error().code())},
                       {"message", answer.error().message()}};
    }
    KW_TRY_STATUS(services.console.out(
        many || command.json ? line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                             : result_text(*answer)));
  }
  if (many) say_summary(client.counts(), priced, services.console);
  say_suspicions(client.counts(), services.console);
  return all_answered ? 0 : 2;
}

}  // namespace kw::front
