#include "data/teach.h"

#include <fstream>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/seed.h"
#include "base/text.h"
#include "data/task_group.h"
#include "os/journal.h"

namespace kw::data {
namespace fs = std::filesystem;
namespace {

constexpr int kTeachSchema = 1;

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

// One thing to ask.
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

// Where an entry of the log stands.
struct Place {
  std::uint64_t begin = 0;
  std::uint32_t bytes = 0;
};

// The server itself is the matter, not this question.
bool ends_everything(ErrorCode code) {
  return code == ErrorCode::kPermissionDenied || code == ErrorCode::kNotFound ||
         code == ErrorCode::kResourceExhausted;
}

class TeachRun {
 public:
  TeachRun(const fs::path& in, const fs::path& log, OutputFile& out, const TeachSettings& settings,
           openai::ChatClient& client, const TeachEvents& events, std::stop_token stop)
      : in_(in),
        log_(log),
        out_(out),
        settings_(settings),
        client_(client),
        events_(events),
        group_(settings.concurrency, std::move(stop)) {}

  Result<TeachReport> run() {
    KW_TRY_STATUS(open());
    KW_TRY_STATUS(count());
    KW_TRY_STATUS(ask_all());
    if (report_.failed > 0)
      return fail(ErrorCode::kUnavailable,
                  "{} questions got no answer, the first because of: {}; the answers to the others "
                  "are in {}: the same command with --resume goes on",
                  report_.failed, first_failure_, log_.string());
    KW_TRY_STATUS(write());
    return report_;
  }

 private:
  bool to_ask(const Sample& sample) const {
    return !sample.pending && (settings_.again || !sample.answered());
  }

  Status open() {
    const Json header = teach_header(settings_);
    bool first = true;
    auto journal = os::Journal::open(log_, [&](const std::string& text) -> Status {
      const std::uint64_t begin = std::exchange(end_, end_ + text.size() + 1);
      KW_TRY(Json line, parse_json(text));
      if (std::exchange(first, false)) {
        if (line == header) return {};
        return fail(ErrorCode::kInvalidArgument,
                    "written with other settings; give another log, or take this one away");
      }
      KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
      KW_TRY(std::string key, reader.string("key"));
      places_[std::move(key)] = {begin, static_cast<std::uint32_t>(text.size())};
      return {};
    });
    if (!journal) return tl::unexpected(std::move(journal).error());
    journal_.emplace(std::move(*journal));
    if (first) KW_TRY_STATUS(append(header.dump()));
    return {};
  }

  Status append(const std::string& line) {
    KW_TRY_STATUS(journal_->append(line));
    end_ += line.size() + 1;
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
        if (places_.contains(question.key)) ++report_.earlier;
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
    return places_.contains(question.key);
  }

  openai::ChatRequest request_of(const std::vector<prompt::Message>& messages,
                                 const Question& question) const {
    openai::ChatRequest out;
    out.tag = question.key;
    out.model = settings_.model;
    if (question.docs)
      out.messages.push_back(
          {"system", "Documentation that helps with what follows.\n\n" + settings_.documentation});
    for (const prompt::Message& message : messages) {
      // Many chat templates take one system message, the first.
      if (message.role == "system" && question.docs) {
        out.messages.front().content += "\n\n" + message.content;
      } else {
        out.messages.push_back({message.role, message.content});
      }
    }
    out.temperature = settings_.temperature;
    out.top_p = settings_.top_p;
    out.max_tokens = settings_.max_tokens;
    out.seed = seed_of(fmt::format("{} {}", settings_.seed, question.key));
    return out;
  }

  // On a worker's thread.
  void ask(const std::vector<prompt::Message>& messages, const Question& question) {
    if (group_.ending()) return;
    auto answer = client_.complete(request_of(messages, question), group_.token());
    std::lock_guard lock(mutex_);
    if (!answer) return failed(question, answer.error());
    failures_in_a_row_ = 0;
    const openai::Choice& choice = answer->choices.front();
    const Json line = {{"key", question.key},
                       {"answer", choice.text},
                       {"finish", choice.finish_reason},
                       {"suspicion", to_string(choice.suspicion)},
                       {"model", answer->model},
                       {"prompt_tokens", answer->usage.prompt_tokens},
                       {"completion_tokens", answer->usage.completion_tokens},
                       {"cost", answer->cost},
                       {"tries", answer->tries}};
    if (!store(question.key, line)) return;
    const bool usable = choice.suspicion == openai::Suspicion::kNone &&
                        choice.finish_reason != "length" &&
                        choice.finish_reason != "content_filter";
    if (events_.answered) events_.answered(usable);
  }

  void failed(const Question& question, const Error& error) {
    if (error.code() == ErrorCode::kCancelled) return;
    if (events_.failed) events_.failed(question.key, error);
    if (error.code() == ErrorCode::kInvalidArgument) {  // this question, again and again
      store(question.key,
            {{"key", question.key},
             {"error", {{"code", to_string(error.code())}, {"message", error.message()}}}});
      return;
    }
    if (report_.failed++ == 0) first_failure_ = error.message();
    if (ends_everything(error.code()) || ++failures_in_a_row_ >= settings_.most_failures)
      group_.end(
          Error(error.code(), fmt::format("{}; the answers so far are in {}: the same command with "
                                          "--resume goes on",
                                          error.message(), log_.string())));
  }

  bool store(const std::string& key, const Json& value) {
    const std::string line = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::uint64_t begin = end_;
    if (Status written = append(line); !written) {
      group_.end(written.error());
      return false;
    }
    places_[key] = {begin, static_cast<std::uint32_t>(line.size())};
    return true;
  }

  Status write() {
    std::ifstream log(log_, std::ios::binary);
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
        KW_TRY(Json entry, entry_at(log, places_.at(question.key)));
        KW_TRY(bool usable, count(entry, first));
        if (!usable) continue;
        ++report_.written;
        KW_TRY_STATUS(out_.append_line(to_line(taught(sample, id, question, entry))));
      }
      return {};
    });
  }

  static Result<Json> entry_at(std::ifstream& log, const Place& place) {
    std::string text(place.bytes, '\0');
    log.seekg(static_cast<std::streamoff>(place.begin));
    if (!log.read(text.data(), static_cast<std::streamsize>(text.size())))
      return fail(ErrorCode::kDataLoss, "the log ends at byte {}", place.begin);
    return parse_json(text);
  }

  Sample taught(Sample sample, const std::string& id, const Question& question,
                const Json& entry) const {
    sample.messages.push_back({"assistant", entry["answer"].get<std::string>()});
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
    if (reader.has("error")) {
      report_.refused += one;
      return false;
    }
    KW_TRY(std::string finish, reader.string("finish"));
    KW_TRY(std::string suspicion, reader.string("suspicion"));
    KW_TRY(std::int64_t prompt_tokens, reader.integer("prompt_tokens"));
    KW_TRY(std::int64_t completion_tokens, reader.integer("completion_tokens"));
    KW_TRY(double cost, reader.number("cost"));
    report_.answered += one;
    if (first) {
      report_.prompt_tokens += prompt_tokens;
      report_.completion_tokens += completion_tokens;
      report_.cost += cost;
    }
    std::uint64_t* unusable = finish == "length"           ? &report_.truncated
                              : finish == "content_filter" ? &report_.filtered
                              : suspicion == "empty"       ? &report_.empty
                              : suspicion != "none"        ? &report_.echoes
                                                           : nullptr;
    if (unusable == nullptr) return true;
    *unusable += one;
    return false;
  }

  const fs::path in_, log_;
  OutputFile& out_;
  const TeachSettings& settings_;
  openai::ChatClient& client_;
  const TeachEvents& events_;

  std::mutex mutex_;  // of what is below, while work is under way
  int failures_in_a_row_ = 0;
  std::optional<os::Journal> journal_;
  std::uint64_t end_ = 0;  // of the log
  std::unordered_map<std::string, Place> places_;
  std::string first_failure_;
  TeachReport report_;
  TaskGroup group_;  // last: its threads use the others
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
          {"refused", report.refused},
          {"failed", report.failed},
          {"earlier", report.earlier},
          {"prompt_tokens", report.prompt_tokens},
          {"completion_tokens", report.completion_tokens},
          {"cost", report.cost}};
}

Result<TeachReport> teach_dataset(const fs::path& in, const fs::path& log, OutputFile& out,
                                  const TeachSettings& settings, openai::ChatClient& client,
                                  const TeachEvents& events, const std::stop_token& stop) {
  return TeachRun(in, log, out, settings, client, events, stop).run();
}

}  // namespace kw::data
