// Drives the tokenizer for cross_check.py and bench/tokenizer.py:
//
//   tokenizer_tool serve FOLDER
//     answers JSON requests, one a line, with FOLDER's tokenizer: encode, decode, stream, render
//
//   tokenizer_tool train FOLDER PATTERN VOCAB NFC
//     learns from the JSON strings on stdin, one a line, and writes into FOLDER
//
//   tokenizer_tool bench FOLDER ROUNDS
//     the seconds to encode and decode the JSON strings on stdin, and what came out
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "lm/tokenizer/bpe_trainer.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/detokenizer.h"
#include "lm/tokenizer/tokenizer.h"

namespace kw::lm {
namespace {

[[noreturn]] void leave(const std::string& message) {
  fmt::print(stderr, "tokenizer_tool: {}\n", message);
  std::exit(1);
}

template <typename T>
T value_or_leave(Result<T> result) {
  if (!result) leave(result.error().message());
  return std::move(*result);
}

std::string bytes_of_hex(const std::string& hex) {
  std::string out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  return out;
}

Json encode(const Tokenizer& tokenizer, const Json& request) {
  std::string text =
      request.contains("hex") ? bytes_of_hex(request["hex"]) : request["text"].get<std::string>();
  EncodeOptions options{request.value("add_special", true), request.value("parse_special", true)};
  auto ids = tokenizer.encode(text, options);
  return ids ? Json{{"ids", *ids}} : Json{{"error", ids.error().message()}};
}

Json stream(const Tokenizer& tokenizer, const Json& request) {
  auto detokenizer = Detokenizer::make(
      tokenizer, {request["stop"].get<std::vector<std::string>>(), request["skip_special"]});
  if (!detokenizer) return {{"error", detokenizer.error().message()}};
  Json pieces = Json::array();
  for (const Json& id : request["ids"]) pieces.push_back(detokenizer->push(id));
  pieces.push_back(detokenizer->finish());
  Json stop = detokenizer->stopped_by() ? Json(*detokenizer->stopped_by()) : Json(nullptr);
  return {{"pieces", pieces}, {"stop", stop}};
}

Json render(const Tokenizer& tokenizer, const Json& request) {
  static const ChatTemplate kOwn = ChatTemplate::of(tokenizer);
  std::vector<text::ChatMessage> messages;
  for (const Json& message : request["messages"])
    messages.push_back({message["role"], message["content"]});
  ChatOptions options;
  std::string end = request["end"];
  options.end = end == "generation" ? ChatEnd::kGenerationPrompt
                : end == "continue" ? ChatEnd::kContinueFinal
                                    : ChatEnd::kNothing;
  options.arguments = request.value("arguments", Json::object());
  auto text = kOwn.render(messages, options);
  return text ? Json{{"text", *text}} : Json{{"error", text.error().message()}};
}

int serve(const char* folder) {
  Tokenizer tokenizer = value_or_leave(Tokenizer::load(folder));
  for (std::string line; std::getline(std::cin, line);) {
    Json request = value_or_leave(parse_json(line));
    std::string op = request["op"];
    Json answer;
    if (op == "encode")
      answer = encode(tokenizer, request);
    else if (op == "decode")
      answer = {{"text", tokenizer.decode(request["ids"].get<std::vector<TokenId>>(),
                                          request["skip_special"])}};
    else if (op == "stream")
      answer = stream(tokenizer, request);
    else
      answer = render(tokenizer, request);
    std::cout << answer.dump() << '\n';
  }
  return 0;
}

int train(const char* folder, std::string_view pattern, const char* vocab, std::string_view nfc) {
  TrainerOptions options;
  options.pattern = pattern == "gpt2"     ? WordPattern::kGpt2
                    : pattern == "llama3" ? WordPattern::kLlama3
                                          : WordPattern::kQwen;
  options.vocab_size = std::stoul(vocab);
  options.nfc = nfc == "1";
  BpeTrainer trainer = value_or_leave(BpeTrainer::make(options));
  for (std::string line; std::getline(std::cin, line);)
    trainer.add(value_or_leave(parse_json(line)).get<std::string>());
  Status written = trainer.write(trainer.train(), folder);
  if (!written) leave(written.error().message());
  return 0;
}

template <typename Body>
double seconds(Body body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int bench(const char* folder, int rounds) {
  Json answer;
  std::optional<Tokenizer> tokenizer;
  answer["load_s"] = seconds([&] { tokenizer = value_or_leave(Tokenizer::load(folder)); });
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);)
    texts.push_back(value_or_leave(parse_json(line)).get<std::string>());
  std::vector<std::vector<TokenId>> ids(texts.size());
  std::vector<std::string> back(texts.size());
  for (int round = 0; round < rounds; ++round) {
    answer["encode_s"].push_back(seconds([&] {
      for (std::size_t at = 0; at < texts.size(); ++at)
        ids[at] = value_or_leave(tokenizer->encode(texts[at], {.add_special = false}));
    }));
    answer["decode_s"].push_back(seconds([&] {
      for (std::size_t at = 0; at < texts.size(); ++at) back[at] = tokenizer->decode(ids[at]);
    }));
  }
  answer["ids"] = ids;
  answer["texts"] = back;
  std::cout << answer.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace kw::lm

int main(int count, char** arguments) {
  std::ios::sync_with_stdio(false);
  std::string_view verb = count > 1 ? arguments[1] : "";
  if (verb == "serve" && count == 3) return kw::lm::serve(arguments[2]);
  if (verb == "train" && count == 6)
    return kw::lm::train(arguments[2], arguments[3], arguments[4], arguments[5]);
  if (verb == "bench" && count == 4) return kw::lm::bench(arguments[2], std::atoi(arguments[3]));
  kw::lm::leave("serve FOLDER | train FOLDER PATTERN VOCAB NFC | bench FOLDER ROUNDS");
}
