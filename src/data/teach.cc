#include "data/teach.h"

#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/present.h"
#include "base/seed.h"
#include "base/text.h"
#include "data/answers.h"
#include "os/task_group.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr int kTeachSchema = 2;

Json teach_header(const TeachSettings& settings) {
  return {
      {"schema", kTeachSchema},
      {"model", settings.model},
      {"temperature", settings.temperature},
      {"top_p", settings.top_p},
      {"max_tokens", settings.max_tokens},
      {"seed", settings.seed},
      {"documentation", settings.documentation.empty() ? "" : sha256_hex(settings.documentation)}};
}

// One question for the server.
struct Question {
  std::string key;  // "ID plain 0", "ID docs 1"
  bool docs = false;
  int number = 0;
};

std::vector<Question> questions_of(const std::string& id, const TeachSettings& settings) {
  std::vector<Question> out;
  for (int number = 0; number < settings.answers; ++number) {
    if (settings.docs != Docs::kOnly)
      out.push_back({fmt::format("{} plain {}", id, number), false, number});
    if (settings.docs != Docs::kNone)
      out.push_back({fmt::format("{} docs {}", id, number), true, number});
  }
  return out;
}

// Without the answer that is to be replaced.
Sample bare(Sample sample) {
  if (sample.answered()) sample.messages.pop_back();
  sample.verdict = nullptr;
  return sample;
}

// The server or the request itself is the matter, not this question.
bool ends_everything(ErrorCode code, openai::Outcome last) {
  return code == ErrorCode::kPermissionDenied || code == ErrorCode::kNotFound ||
         code == ErrorCode::kResourceExhausted || last == openai::Outcome::kRedirected;
}

bool is_usable(std::string_view finish, std::string_view suspicion) {
  return suspicion == "none" && finish != "length" && finish != "content_filter";
}

class TeachRun {
 public:
  TeachRun(const fs::path& in, const fs::path& log, OutputFile& out, const TeachSettings& settings,
           openai::ChatSettings server, const TeachEvents& events, std::stop_token stop)
      : in_(in),
        log_(log),
        out_(out),
        settings_(settings),
        server_(std::move(server)),
        events_(events),
        group_(settings.concurrency, std::move(stop), kInterrupted) {}

  Result<TeachReport> run() {
    KW_TRY_STATUS(open());
    KW_TRY_STATUS(count());
    KW_TRY_STATUS(ask_all());
    if (report_.failed > 0)
      return fail(ErrorCode::kUnavailable,
                  "{} questions got no answer, the first because of: {}; the answers to the others "
                  "are in {}: the same command with --resume goes on",
                  report_.failed, first_failure_, log_.string());
    if (!refusals_.empty()) return all_refused();
    KW_TRY_STATUS(write());
    if (report_.written == 0)
      return fail(ErrorCode::kInvalidArgument,
                  "no sample: of {} questions {} were refused, {} answers were cut off by the "
                  "token limit, {} empty, {} echoes, {} filtered, {} too large; see {}",
                  report_.questions, report_.refused, report_.truncated, report_.empty,
                  report_.echoes, report_.filtered, report_.too_large, log_.string());
    report_.cost = opened_answers().spent().cost;
    report_.client = opened_client().counts();
    return report_;
  }

 private:
  bool to_ask(const Sample& sample) const {
    return !sample.pending && (settings_.again || !sample.answered());
  }

  // The client is made when it is known what earlier sessions have spent.
  Status open() {
    KW_TRY(Answers answers, Answers::open(log_, teach_header(settings_)));
    answers_.emplace(std::move(answers));
    server_.budget.spent_cost += opened_answers().spent().cost;
    server_.budget.spent_tokens += opened_answers().spent().tokens;
    server_.on_attempt = [this](const openai::Attempt& attempt) { book_.add(attempt); };
    KW_TRY(openai::ChatClient client, openai::ChatClient::make(std::move(server_)));
    client_.emplace(std::move(client));
    return {};
  }

  Status count() {
    std::unordered_set<std::string> ids;
    KW_TRY_STATUS(for_each_sample(in_, [&](Sample sample, std::string_view) {
      ++report_.rows;
      if (!to_ask(sample)) return Status();
      const std::string id = sample_id(bare(std::move(sample)));
      if (!ids.insert(id).second) return Status();
      for (const Question& question : questions_of(id, settings_)) {
        ++report_.questions;
        if (opened_answers().contains(question.key)) ++report_.earlier;
      }
      return Status();
    }));
    if (report_.questions == 0)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: every sample has an answer (data teach --again asks once more)",
                  in_.string());
    if (events_.begin) events_.begin(report_.questions - report_.earlier, report_.earlier);
    return {};
  }

  Status ask_all() {
    std::unordered_set<std::string> handed_out;
    return group_.finish(for_each_sample(in_, [&](Sample sample, std::string_view) -> Status {
      if (!to_ask(sample)) return {};
      sample = bare(std::move(sample));
      sample.id = sample_id(sample);
      if (!handed_out.insert(sample.id).second) return {};
      for (Question& question : questions_of(sample.id, settings_)) {
        if (group_.ending()) return fail(ErrorCode::kCancelled, "interrupted");
        if (answered(question)) continue;
        group_.post([this, messages = sample.messages, question = std::move(question)] {
          ask(messages, question);
        });
      }
      return {};
    }));
  }

  bool answered(const Question& question) {
    std::lock_guard lock(mutex_);
    return opened_answers().contains(question.key);
  }

  openai::ChatRequest request_of(const std::vector<text::ChatMessage>& messages,
                                 const Question& question) const {
    openai::ChatRequest out;
    out.tag = question.key;
    out.model = settings_.model;
    if (question.docs)
      out.messages.push_back(
          {"system", "Documentation that helps with what follows.\n\n" + settings_.documentation});
    for (const text::ChatMessage& message : messages) {
      // Many chat templates take one system message, the first.
      if (message.role == "system" && question.docs) {
        out.messages.front().content += "\n\n" + message.content;
      } else {
        out.messages.push_back(message);
      }
    }
    out.temperature = settings_.temperature;
    out.top_p = settings_.top_p;
    out.max_tokens = settings_.max_tokens;
    out.seed = seed_of(fmt::format("{} {}", settings_.seed, question.key));
    return out;
  }

  // On a worker's thread.
  void ask(const std::vector<text::ChatMessage>& messages, const Question& question) {
    if (group_.ending()) return;
    auto answer = opened_client().complete(request_of(messages, question), group_.token());
    const AttemptBook::Entry attempts = book_.take(question.key);
    std::lock_guard lock(mutex_);
    if (!answer) return failed(question.key, answer.error(), attempts);
    failures_in_a_row_ = 0;
    if (!store(opened_answers().add_answer(question.key, *answer, attempts.spent))) return;
    store_refusals();
    const openai::Choice& choice = answer->choices.front();
    if (events_.answered)
      events_.answered(is_usable(choice.finish_reason, to_string(choice.suspicion)));
  }

  void failed(const std::string& key, const Error& error, const AttemptBook::Entry& attempts) {
    if (error.code() != ErrorCode::kCancelled && events_.failed) events_.failed(key, error);
    if (attempts.last == openai::Outcome::kTooLarge) {
      if (store(opened_answers().add_too_large(key, error, attempts.spent))) store_refusals();
      return;
    }
    const bool everything = ends_everything(error.code(), attempts.last);
    if (error.code() == ErrorCode::kInvalidArgument && !everything)
      return refused({key, error, attempts.spent});
    const bool paid = attempts.spent.tokens > 0 || attempts.spent.cost > 0;
    if (paid && !store(opened_answers().add_cost(key, error, attempts.spent))) return;
    if (error.code() == ErrorCode::kCancelled) return;
    if (report_.failed++ == 0) first_failure_ = error.message();
    if (everything || ++failures_in_a_row_ >= settings_.most_failures) end_with(error);
  }

  void end_with(const Error& error) {
    group_.end(
        Error(error.code(), fmt::format("{}; the answers so far are in {}: the same command with "
                                        "--resume goes on",
                                        error.message(), log_.string())));
  }

  struct Refusal {
    std::string key;
    Error error;
    Spent spent;
  };

  // After the first answer a refusal concerns its question alone. Until then it may concern every
  // question, so it is not written down.
  void refused(Refusal refusal) {
    refusals_.push_back(std::move(refusal));
    if (opened_answers().any()) return store_refusals();
    if (static_cast<int>(refusals_.size()) >= settings_.most_failures)
      group_.end(all_refused().value());
  }

  void store_refusals() {
    for (const Refusal& one : std::exchange(refusals_, {})) {
      if (!store(opened_answers().add_refusal(one.key, one.error, one.spent))) return;
    }
  }

  tl::unexpected<Error> all_refused() const {
    const Error& first = refusals_.front().error;
    return fail(first.code(),
                "the server refused {} questions and has answered none, the first with: {}",
                refusals_.size(), first.message());
  }

  bool store(const Status& stored) {
    if (!stored) group_.end(stored.error());
    return stored.has_value();
  }

  Status write() {
    std::unordered_set<std::string> counted;
    return for_each_sample(in_, [&](Sample sample, std::string_view line) -> Status {
      if (!to_ask(sample)) {
        ++report_.written;
        return out_.append_line(line);
      }
      sample = bare(std::move(sample));
      const std::string id = sample_id(sample);
      const bool first = counted.insert(id).second;
      for (const Question& question : questions_of(id, settings_)) {
        KW_TRY(Json entry, opened_answers().entry(question.key));
        KW_TRY(bool usable, count(entry, first));
        if (!usable) continue;
        ++report_.written;
        KW_TRY_STATUS(out_.append_line(to_line(taught(sample, id, question, entry))));
      }
      return {};
    });
  }

  Sample taught(Sample sample, const std::string& id, const Question& question,
                const Json& entry) const {
    std::string text = entry["answer"].get<std::string>();
    if (settings_.reasoning && entry.contains("reasoning"))
      text = fmt::format("<think>\n{}\n</think>\n\n{}",
                         trim(entry["reasoning"].get_ref<const std::string&>()), text);
    sample.messages.push_back({"assistant", std::move(text)});
    if (sample.group.empty()) sample.group = id;
    const std::string model = entry["model"].get<std::string>();
    sample.origin["teacher"] = model.empty() ? settings_.model : model;
    sample.labels.other["docs"] = question.docs;
    sample.labels.other["answer"] = question.number;
    return sample;
  }

  // Whether it is an answer to be written.
  Result<bool> count(const Json& entry, bool first) {
    const std::uint64_t one = first ? 1 : 0;
    KW_TRY(ObjectReader reader, ObjectReader::make(entry, log_.string()));
    if (reader.has("refused")) {
      report_.refused += one;
      return false;
    }
    report_.answered += one;
    if (reader.has("too_large")) {
      report_.too_large += one;
      return false;
    }
    KW_TRY(std::string finish, reader.string("finish"));
    KW_TRY(std::string suspicion, reader.string("suspicion"));
    KW_TRY(std::int64_t prompt_tokens, reader.integer("prompt_tokens"));
    KW_TRY(std::int64_t completion_tokens, reader.integer("completion_tokens"));
    if (first) {
      report_.prompt_tokens += prompt_tokens;
      report_.completion_tokens += completion_tokens;
    }
    if (is_usable(finish, suspicion)) return true;
    std::uint64_t& unusable = finish == "length"           ? report_.truncated
                              : finish == "content_filter" ? report_.filtered
                              : suspicion == "empty"       ? report_.empty
                                                           : report_.echoes;
    unusable += one;
    return false;
  }

  // Made by open().
  Answers& opened_answers() { return present(answers_); }
  openai::ChatClient& opened_client() { return present(client_); }

  const fs::path in_, log_;
  OutputFile& out_;
  const TeachSettings& settings_;
  openai::ChatSettings server_;
  const TeachEvents& events_;
  AttemptBook book_;
  std::optional<openai::ChatClient> client_;

  std::mutex mutex_;  // guards the members below while threads run
  int failures_in_a_row_ = 0;
  std::optional<Answers> answers_;
  std::vector<Refusal> refusals_;  // refusals that are not written down yet
  std::string first_failure_;
  TeachReport report_;
  os::TaskGroup group_;  // last: its threads use the others
};

}  // namespace

Json to_json(const TeachReport& report) {
  return {{"rows", report.rows},
          {"questions", report.questions},
          {"answered", report.answered},
          {"written", report.written},
          {"truncated", report.truncated},
          {"empty", report.empty},
          {"echoes", report.echoes},
          {"filtered", report.filtered},
          {"too_large", report.too_large},
          {"refused", report.refused},
          {"failed", report.failed},
          {"earlier", report.earlier},
          {"prompt_tokens", report.prompt_tokens},
          {"completion_tokens", report.completion_tokens},
          {"cost", report.cost},
          {"client", to_json(report.client)}};
}

Result<TeachReport> teach_dataset(const fs::path& in, const fs::path& log, OutputFile& out,
                                  const TeachSettings& settings, openai::ChatSettings server,
                                  const TeachEvents& events, const std::stop_token& stop) {
  return TeachRun(in, log, out, settings, std::move(server), events, stop).run();
}

}  // namespace kw::data
