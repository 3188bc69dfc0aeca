// Answers of a chat server to the questions of a data set, resumable.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "data/files.h"
#include "data/sample.h"
#include "openai/chat_client.h"

namespace kw::data {

enum class Docs {
  kNone,
  kOnly,   // every question with the documentation in front
  kPairs,  // every question twice: without and with it
};

struct TeachSettings {
  std::string model;  // the server's name for it
  double temperature = 1, top_p = 1;
  int max_tokens = 4096;
  int answers = 1;  // to each question, each with a seed of its own
  int concurrency = 32;
  std::uint64_t seed = 0;
  Docs docs = Docs::kNone;
  std::string documentation;  // text; in a message of its own before the question
  bool again = false;         // ask questions that have an answer too, and replace it
  bool reasoning = false;     // written as <think>...</think> before the answer, where there is any
  int most_failures = 20;     // one after the other, or refused before the first answer: then the
                              // server is taken to be gone, or the request to be wrong
};

// Counts over all sessions of a log, but for `failed`, `earlier` and `client`.
struct TeachReport {
  std::uint64_t rows = 0, questions = 0;  // questions: with their variants and numbers
  std::uint64_t answered = 0, written = 0;
  // Answers that are not written.
  std::uint64_t truncated = 0, empty = 0, echoes = 0, filtered = 0, too_large = 0;
  std::uint64_t refused = 0;  // the server will not have the question: not asked again
  std::uint64_t failed = 0;   // questions without an answer this time
  std::uint64_t earlier = 0;  // answered or refused in an earlier session
  std::int64_t prompt_tokens = 0, completion_tokens = 0;  // tokens of the answered questions
  double cost = 0;                                        // cost of every attempt in the log
  openai::Counts client;
};
Json to_json(const TeachReport& report);

struct TeachEvents {  // from several threads, one at a time
  std::function<void(std::uint64_t to_ask, std::uint64_t earlier)> begin;
  std::function<void(bool usable)> answered;
  std::function<void(const std::string& key, const Error& error)> failed;
};

// Theory of operation: questions go to `concurrency` threads over a bounded queue; the client
// limits rates, retries and counts. Each answer is appended to the log and synced, and only then it
// counts. When every question has one, the data set is read once more and written with the answers.
// These are fetched from the log, so they are never all in memory. A written sample has the bare
// question. Its label "docs" says whether the teacher saw the documentation, and both of a pair are
// in one group. After kill -9 the same call goes on, and asks again at most the questions in
// flight. Money and tokens in the log count against server.budget. Nothing is written to `out`
// while questions are without an answer: the call returns kUnavailable with --resume in the
// message. A log of other settings is kInvalidArgument. A failure that concerns one question is
// kept in the log: a refusal (4xx), or an answer over the client's limit. A failure that concerns
// all questions ends the run and is not kept: a redirect, a key, a model, a quota, refusals before
// the first answer. No sample to write is kInvalidArgument. The function sets server.on_attempt.
Result<TeachReport> teach_dataset(const std::filesystem::path& in, const std::filesystem::path& log,
                                  OutputFile& out, const TeachSettings& settings,
                                  openai::ChatSettings server, const TeachEvents& events,
                                  const std::stop_token& stop);

}  // namespace kw::data
