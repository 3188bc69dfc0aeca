// All prompts are submitted at once: the scheduler takes them as slots come free.
#include "generate.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/text.h"
#include "link/generate_request.h"
#include "link/prompts_file.h"
#include "model_session.h"
#include "session_settings.h"

namespace kw::lm_program {
namespace {

using serving::CompletionPart;

// One prompt, its answers, and where it stands in the output.
struct Task : serving::CompletionListener {
  Json id;  // null: none
  link::GenerateRequest request;
  std::int64_t prompt_tokens = 0;
  struct Choice {
    std::string text;
    std::vector<lm::Sample> tokens;
    std::string finish;
  };
  std::vector<Choice> choices;
  bool finished = false, streams = false;

  void part(CompletionPart part) override {
    Choice& choice = choices[static_cast<std::size_t>(part.choice)];
    if (streams) {
      fmt::print("{}", part.text);
      std::fflush(stdout);
    }
    choice.text += part.text;
    choice.tokens.insert(choice.tokens.end(), part.tokens.begin(), part.tokens.end());
    if (part.finish) choice.finish = to_string(*part.finish);
  }
  void done() override { finished = true; }
};

Result<std::vector<std::unique_ptr<Task>>> tasks_of_file(const std::string& path,
                                                         const link::GenerateRequest& defaults) {
  KW_TRY(auto prompts, link::read_prompts_file(path, defaults));
  std::vector<std::unique_ptr<Task>> out;
  for (link::FilePrompt& prompt : prompts) {
    out.push_back(std::make_unique<Task>());
    out.back()->id = std::move(prompt.id);
    out.back()->request = std::move(prompt.request);
  }
  return out;
}

struct Settings {
  SessionOptions session;
  std::int64_t context = 0;
  bool json = false;
  std::vector<std::unique_ptr<Task>> tasks;
};

Result<std::vector<std::unique_ptr<Task>>> tasks_of(ObjectReader& reader,
                                                    link::GenerateRequest request) {
  KW_TRY(std::string prompt, reader.string_or("prompt", ""));
  KW_TRY(std::string chat, reader.string_or("chat", ""));
  KW_TRY(std::string prompts, reader.string_or("prompts", ""));
  KW_TRY(std::string system, reader.string_or("system", ""));
  if (!prompts.empty()) return tasks_of_file(prompts, request);
  if (!prompt.empty()) {
    request.prompt = std::move(prompt);
  } else {
    std::vector<text::ChatMessage> messages;
    if (!system.empty()) messages.push_back({"system", system});
    messages.push_back({"user", chat});
    request.prompt = std::move(messages);
  }
  std::vector<std::unique_ptr<Task>> out;
  out.push_back(std::make_unique<Task>());
  out.back()->request = std::move(request);
  return out;
}

Result<Settings> settings_from(const Json& value) {
  Settings out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY_STATUS(read_session_options(reader, out.session));
  KW_TRY(out.context, reader.integer_or("context", 0));
  KW_TRY(out.json, reader.boolean_or("json", false));
  link::GenerateRequest defaults;
  KW_TRY_STATUS(link::read_settings(reader, defaults));
  KW_TRY(out.tasks, tasks_of(reader, defaults));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

// The likeliest tokens beside each, as [id, logprob].
Json top_logprobs_of(const Task::Choice& choice) {
  Json out = Json::array();
  for (const lm::Sample& sample : choice.tokens) {
    Json list = Json::array();
    for (const lm::TokenLogprob& one : sample.top)
      list.push_back(Json::array({one.token, one.logprob}));
    out.push_back(std::move(list));
  }
  return out;
}

Json result_of(const Task& task) {
  Json choices = Json::array();
  std::int64_t sampled = 0;
  for (std::size_t i = 0; i < task.choices.size(); ++i) {
    const Task::Choice& choice = task.choices[i];
    Json ids = Json::array(), logprobs = Json::array();
    for (const lm::Sample& sample : choice.tokens) {
      ids.push_back(sample.token);
      logprobs.push_back(sample.logprob);
    }
    sampled += static_cast<std::int64_t>(choice.tokens.size());
    choices.push_back({{"index", i},
                       {"text", choice.text},
                       {"token_ids", std::move(ids)},
                       {"logprobs", std::move(logprobs)},
                       {"finish_reason", choice.finish}});
    if (task.request.top_logprobs > 0) choices.back()["top_logprobs"] = top_logprobs_of(choice);
  }
  Json out = Json::object();
  if (!task.id.is_null()) out["id"] = task.id;
  out["choices"] = std::move(choices);
  out["usage"] = {{"prompt_tokens", task.prompt_tokens},
                  {"completion_tokens", sampled},
                  {"total_tokens", task.prompt_tokens + sampled}};
  return out;
}

Status print(const Task& task, const Settings& settings) {
  std::string text;
  if (settings.json || settings.tasks.size() > 1) {
    text = result_of(task).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else if (task.streams) {
    text = "\n";
  } else {
    for (std::size_t i = 0; i < task.choices.size(); ++i)
      text += fmt::format("--- {} of {}\n{}\n", i + 1, task.choices.size(), task.choices[i].text);
  }
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    return fail(ErrorCode::kUnavailable, "cannot print the result: nobody reads it");
  return {};
}

// Without the time to load the model. bench/serve_load.py reads it.
void say_speed(const serving::Generator::Statistics& counts, std::chrono::duration<double> time) {
  fmt::print(stderr, "{} tokens of prompts and {} of answers in {:.2f} s: {:.1f} tokens/s\n",
             counts.prompt_tokens, counts.sampled_tokens, time.count(),
             static_cast<double>(counts.sampled_tokens) / time.count());
}

// What the longest prompt with its answer needs: the whole context of a model can be gigabytes.
Status choose_sizes(Settings& settings) {
  std::int64_t sequences = 0;
  for (const auto& task : settings.tasks) sequences += task->request.n;
  settings.session.slots = std::min(settings.session.slots, sequences);
  if (settings.context > 0) {
    settings.session.context = settings.context;
    return {};
  }
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(settings.session.model));
  lm::ChatTemplate chat = lm::ChatTemplate::of(tokenizer);
  settings.session.context = 0;
  for (const auto& task : settings.tasks) {
    KW_TRY(auto tokens, serving::prompt_tokens(task->request, tokenizer, chat));
    settings.session.context =
        std::max(settings.session.context,
                 static_cast<std::int64_t>(tokens.size()) + task->request.max_tokens + 1);
  }
  return {};
}

}  // namespace

Status generate(const Json& value) {
  KW_TRY(Settings settings, settings_from(value));
  KW_TRY_STATUS(choose_sizes(settings));
  KW_TRY(auto session, ModelSession::open(settings.session));
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& task : settings.tasks) {
    task->choices.resize(static_cast<std::size_t>(task->request.n));
    task->streams = !settings.json && settings.tasks.size() == 1 && task->request.n == 1;
    KW_TRY(auto started, session->completions().start(task->request, task.get()));
    task->prompt_tokens = started.prompt_tokens;
  }
  std::size_t printed = 0;
  while (printed < settings.tasks.size()) {
    if (settings.tasks[printed]->finished) {
      KW_TRY_STATUS(print(*settings.tasks[printed++], settings));
    } else if (!session->generator().step()) {
      return fail(ErrorCode::kInternal, "the scheduler has nothing to do, and answers are missing");
    }
  }
  if (settings.tasks.size() > 1)
    say_speed(session->generator().statistics(), std::chrono::steady_clock::now() - begin);
  return {};
}

}  // namespace kw::lm_program
