// All prompts are submitted at once: the scheduler takes them as slots come free.
#include "generate.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/text.h"
#include "model_session.h"
#include "os/file.h"

namespace kw::lm_program {
namespace {

using rollout::CompletionPart;
using rollout::CompletionRequest;

constexpr std::size_t kMostPromptBytes = 1ULL << 30U;

Result<std::vector<lm::ChatMessage>> messages_from(const Json& value, const std::string& where) {
  if (!value.is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of messages", where);
  std::vector<lm::ChatMessage> out;
  for (const Json& item : value) {
    KW_TRY(ObjectReader reader, ObjectReader::make(item, fmt::format("{}[{}]", where, out.size())));
    lm::ChatMessage message;
    KW_TRY(message.role, reader.string("role"));
    KW_TRY(message.content, reader.string("content"));
    KW_TRY_STATUS(reader.no_other_keys());
    out.push_back(std::move(message));
  }
  return out;
}

Status read_sampling(ObjectReader& reader, CompletionRequest& request) {
  lm::SamplingSettings& s = request.sampling;
  KW_TRY(std::int64_t n, reader.integer_or("n", request.choices));
  if (n < 1 || n > 1024)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to 1024, not {}", reader.path("n"), n);
  request.choices = static_cast<int>(n);
  KW_TRY(s.temperature, reader.number_or("temperature", s.temperature));
  KW_TRY(s.top_p, reader.number_or("top_p", s.top_p));
  KW_TRY(s.top_k, reader.integer_or("top_k", s.top_k));
  KW_TRY(s.min_p, reader.number_or("min_p", s.min_p));
  KW_TRY(request.max_tokens, reader.integer_or("max_tokens", request.max_tokens));
  if (const Json* seed = reader.find("seed")) {
    if (!seed->is_number_unsigned())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from 0",
                  reader.path("seed"));
    request.seed = seed->get<std::uint64_t>();
  }
  if (reader.has("stop")) KW_TRY(request.stop, reader.strings_or_empty("stop"));
  return {};
}

// One prompt, its answers, and where it stands in the output.
struct Task : rollout::CompletionListener {
  Json id;  // null: none
  CompletionRequest request;
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

Result<std::unique_ptr<Task>> task_from(const Json& line, const std::string& where,
                                        const CompletionRequest& defaults) {
  auto task = std::make_unique<Task>();
  task->request = defaults;
  KW_TRY(ObjectReader reader, ObjectReader::make(line, where));
  if (const Json* id = reader.find("id")) task->id = *id;
  const Json *prompt = reader.find("prompt"), *messages = reader.find("messages"),
             *tokens = reader.find("token_ids");
  if ((prompt != nullptr) + (messages != nullptr) + (tokens != nullptr) != 1)
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected one of \"prompt\", \"messages\" and \"token_ids\"", where);
  if (prompt != nullptr) KW_TRY(task->request.prompt, reader.string("prompt"));
  if (messages != nullptr)
    KW_TRY(task->request.prompt, messages_from(*messages, reader.path("messages")));
  if (tokens != nullptr) {
    std::vector<lm::TokenId> ids;
    for (const Json& one : *tokens) {
      if (!one.is_number_integer())
        return fail(ErrorCode::kInvalidArgument, "{}: expected a list of integers",
                    reader.path("token_ids"));
      ids.push_back(one.get<lm::TokenId>());
    }
    task->request.prompt = std::move(ids);
  }
  KW_TRY_STATUS(read_sampling(reader, task->request));
  KW_TRY_STATUS(reader.no_other_keys());
  return task;
}

Result<std::vector<std::unique_ptr<Task>>> tasks_of_file(const std::string& path,
                                                         const CompletionRequest& defaults) {
  KW_TRY(std::string text, os::read_file(path, kMostPromptBytes));
  std::vector<std::unique_ptr<Task>> out;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    auto value = parse_json(line);
    if (!value) return tl::unexpected(std::move(value).error().with_context(where));
    KW_TRY(auto task, task_from(*value, where, defaults));
    out.push_back(std::move(task));
  }
  if (out.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no prompts", path);
  return out;
}

struct Settings {
  SessionOptions session;
  std::int64_t context = 0;
  bool json = false;
  std::vector<std::unique_ptr<Task>> tasks;
};

Result<std::vector<std::unique_ptr<Task>>> tasks_of(ObjectReader& reader,
                                                    const CompletionRequest& defaults) {
  KW_TRY(std::string prompt, reader.string_or("prompt", ""));
  KW_TRY(std::string chat, reader.string_or("chat", ""));
  KW_TRY(std::string prompts, reader.string_or("prompts", ""));
  KW_TRY(std::string system, reader.string_or("system", ""));
  if (!prompts.empty()) return tasks_of_file(prompts, defaults);
  std::vector<std::unique_ptr<Task>> out;
  out.push_back(std::make_unique<Task>());
  out.back()->request = defaults;
  if (!prompt.empty()) {
    out.back()->request.prompt = prompt;
    return out;
  }
  std::vector<lm::ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", system});
  messages.push_back({"user", chat});
  out.back()->request.prompt = std::move(messages);
  return out;
}

Result<Settings> settings_from(const Json& value) {
  Settings out;
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(std::string model, reader.string("model"));
  out.session.model = model;
  KW_TRY(out.session.device, reader.string_or("device", "cpu"));
  KW_TRY(out.session.dtype, reader.string_or("dtype", "auto"));
  KW_TRY(std::int64_t threads, reader.integer_or("threads", 0));
  out.session.threads = static_cast<int>(threads);
  KW_TRY(out.session.slots, reader.integer_or("slots", 32));
  KW_TRY(out.context, reader.integer_or("context", 0));
  KW_TRY(out.json, reader.boolean_or("json", false));
  CompletionRequest defaults;
  KW_TRY(defaults.ignore_end, reader.boolean_or("ignore_end", false));
  KW_TRY_STATUS(read_sampling(reader, defaults));
  KW_TRY(out.tasks, tasks_of(reader, defaults));
  KW_TRY_STATUS(reader.no_other_keys());
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

// What the longest prompt with its answer needs: the whole context of a model can be gigabytes.
Status choose_sizes(Settings& settings) {
  std::int64_t sequences = 0;
  for (const auto& task : settings.tasks) sequences += task->request.choices;
  settings.session.slots = std::min(settings.session.slots, sequences);
  if (settings.context > 0) {
    settings.session.context = settings.context;
    return {};
  }
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(settings.session.model));
  KW_TRY(lm::ChatTemplate chat, lm::ChatTemplate::detect(tokenizer));
  settings.session.context = 0;
  for (const auto& task : settings.tasks) {
    KW_TRY(auto tokens, rollout::prompt_tokens(task->request, tokenizer, chat));
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
  for (const auto& task : settings.tasks) {
    task->choices.resize(static_cast<std::size_t>(task->request.choices));
    task->streams = !settings.json && settings.tasks.size() == 1 && task->request.choices == 1;
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
  return {};
}

}  // namespace kw::lm_program
