#include "train/data/row_encoder.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"

namespace kw::train {
namespace {

Result<Sample> encode_tokens(const Json& row) {
  Sample out;
  const Json& tokens = row["tokens"];
  if (!tokens.is_array())
    return fail(ErrorCode::kInvalidArgument, "tokens: expected a list of numbers");
  for (const Json& one : tokens) {
    if (!one.is_number_integer() || one.get<std::int64_t>() < 0 ||
        one.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
      return fail(ErrorCode::kInvalidArgument, "tokens: {} is no token", one.dump());
    out.tokens.push_back(one.get<std::int32_t>());
  }
  out.weights.assign(out.tokens.size(), 1);
  if (!row.contains("weights")) return out;
  const Json& weights = row["weights"];
  if (!weights.is_array() || weights.size() != out.tokens.size())
    return fail(ErrorCode::kInvalidArgument, "weights: expected a list as long as tokens");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i].is_number() ? weights[i].get<double>() : -1;
    if (!(weight >= 0) || !std::isfinite(weight))
      return fail(ErrorCode::kInvalidArgument, "weights[{}]: expected 0 or more", i);
    out.weights[i] = static_cast<float>(weight);
  }
  return out;
}

Result<std::string> string_of(const Json& row, const char* key) {
  if (!row.contains(key) || !row[key].is_string())
    return fail(ErrorCode::kInvalidArgument, "{}: expected text", key);
  return row[key].get<std::string>();
}

struct Turn {
  text::ChatMessage message;
  double weight = 0;
};

Result<std::vector<Turn>> read_turns(const Json& messages, double prompt_weight) {
  if (!messages.is_array() || messages.empty())
    return fail(ErrorCode::kInvalidArgument, "messages: expected a list of messages");
  std::vector<Turn> out;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    KW_TRY(ObjectReader reader, ObjectReader::make(messages[i], fmt::format("messages[{}]", i)));
    Turn turn;
    KW_TRY(turn.message.role, reader.string("role"));
    KW_TRY(turn.message.content, reader.string("content"));
    KW_TRY(turn.weight,
           reader.number_or("weight", turn.message.role == "assistant" ? 1.0 : prompt_weight));
    if (!(turn.weight >= 0) || !std::isfinite(turn.weight))
      return fail(ErrorCode::kInvalidArgument, "{}: expected 0 or more", reader.path("weight"));
    out.push_back(std::move(turn));
  }
  return out;
}

}  // namespace

Result<RowEncoder> RowEncoder::make(const lm::Tokenizer& tokenizer, double prompt_weight) {
  if (!(prompt_weight >= 0) || !std::isfinite(prompt_weight))
    return fail(ErrorCode::kInvalidArgument, "prompt_weight: expected 0 or more, not {}",
                prompt_weight);
  return RowEncoder(tokenizer, lm::ChatTemplate::of(tokenizer), prompt_weight);
}

Status RowEncoder::append(Sample& sample, std::string_view text, double weight) const {
  if (text.empty()) return {};
  KW_TRY(const std::vector<lm::TokenId> ids, tokenizer_->encode(text, {.add_special = false}));
  for (lm::TokenId id : ids) sample.tokens.push_back(static_cast<std::int32_t>(id));
  sample.weights.resize(sample.tokens.size(), static_cast<float>(weight));
  return {};
}

void RowEncoder::append_end(Sample& sample) const {
  if (const auto end = tokenizer_->eos()) {
    sample.tokens.push_back(static_cast<std::int32_t>(*end));
    sample.weights.push_back(1);
  }
}

// With the template rendered after k messages, what message k adds is a suffix: the opening of the
// assistant's turn has the prompt's weight, the content and the end of the turn have the message's.
Result<Sample> RowEncoder::encode_chat(const Json& messages) const {
  KW_TRY(const std::vector<Turn> turns, read_turns(messages, prompt_weight_));
  std::vector<text::ChatMessage> so_far;
  std::string done;
  Sample out;
  auto add_up_to = [&](const std::string& text, double weight, std::size_t index) -> Status {
    if (!text.starts_with(done))
      return fail(ErrorCode::kUnsupported,
                  "messages[{}]: the chat template changes the messages before it", index);
    KW_TRY_STATUS(append(out, std::string_view(text).substr(done.size()), weight));
    done = text;
    return {};
  };
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const bool answers = turns[i].message.role == "assistant" && i > 0;
    if (answers) {
      KW_TRY(const std::string opened, chat_.render(so_far));
      KW_TRY_STATUS(add_up_to(opened, prompt_weight_, i));
    }
    so_far.push_back(turns[i].message);
    KW_TRY(std::string text, chat_.render(so_far, {.end = lm::ChatEnd::kNothing}));
    if (answers && !chat_.end_of_turn().empty()) {
      // The line break that may follow the end of a turn is no part of the answer.
      const std::size_t end = text.rfind(chat_.end_of_turn()) + chat_.end_of_turn().size();
      KW_TRY_STATUS(add_up_to(text.substr(0, end), turns[i].weight, i));
    }
    KW_TRY_STATUS(
        add_up_to(text, answers && !chat_.end_of_turn().empty() ? 0 : turns[i].weight, i));
  }
  return out;
}

Result<Sample> RowEncoder::encode_pair(const Json& row) const {
  KW_TRY(const std::string prompt, string_of(row, "prompt"));
  KW_TRY(const std::string completion, string_of(row, "completion"));
  Sample out;
  KW_TRY_STATUS(append(out, prompt, prompt_weight_));
  KW_TRY_STATUS(append(out, completion, 1));
  append_end(out);
  return out;
}

Result<Sample> RowEncoder::encode(const Json& row) const {
  if (!row.is_object()) return fail(ErrorCode::kInvalidArgument, "expected an object");
  if (row.contains("tokens")) return encode_tokens(row);
  if (row.contains("messages")) return encode_chat(row["messages"]);
  if (row.contains("prompt")) return encode_pair(row);
  if (row.contains("text")) {
    KW_TRY(const std::string text, string_of(row, "text"));
    Sample out;
    KW_TRY_STATUS(append(out, text, 1));
    append_end(out);
    return out;
  }
  return fail(ErrorCode::kInvalidArgument,
              "expected one of the keys messages, prompt and completion, text, tokens");
}

}  // namespace kw::train
