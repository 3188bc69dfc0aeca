// RowEncoder: rows of training data (JSON objects) as tokens and weights.
#pragma once
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/tokenizer.h"
#include "train/data/sample.h"

namespace kw::train {

// Rows of four forms:
//   {"messages": [{"role", "content", "weight"?}, ...]}  weight: of the message's tokens; without
//       it answers of the assistant have 1 and all else has prompt_weight
//   {"prompt", "completion"}  the completion has weight 1 and ends with the end of sequence
//   {"text"}                  all tokens have weight 1, and the end of sequence follows
//   {"tokens", "weights"?}    as they are; without weights all have 1
// Other keys are ignored: data sets carry their own.
class RowEncoder {
 public:
  // Borrows the tokenizer. prompt_weight: of tokens that the model does not write itself.
  // kUnsupported where the tokenizer's chat template is of no known format.
  static Result<RowEncoder> make(const lm::Tokenizer& tokenizer, double prompt_weight);

  // A conversation is encoded piece by piece where the model takes turns, so that its answers have
  // the tokens that a sampler would have drawn. kInvalidArgument for a row of no form above, with
  // the field; kUnsupported for a conversation whose template changes earlier messages.
  Result<Sample> encode(const Json& row) const;

 private:
  RowEncoder(const lm::Tokenizer& tokenizer, lm::ChatTemplate chat, double prompt_weight)
      : tokenizer_(&tokenizer), chat_(std::move(chat)), prompt_weight_(prompt_weight) {}
  Result<Sample> encode_chat(const Json& messages) const;
  Result<Sample> encode_pair(const Json& row) const;
  Status append(Sample& sample, std::string_view text, double weight) const;
  void append_end(Sample& sample) const;

  const lm::Tokenizer* tokenizer_;
  lm::ChatTemplate chat_;
  double prompt_weight_;
};

}  // namespace kw::train
