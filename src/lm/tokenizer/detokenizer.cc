// Holds back what may still change.
#include "lm/tokenizer/detokenizer.h"

#include <algorithm>

#include "base/text.h"
#include "lm/tokenizer/unicode.h"

namespace kw::lm {

Result<Detokenizer> Detokenizer::make(const Tokenizer& tokenizer, DetokenizerOptions options) {
  if (options.stop.size() > kMaxStops)
    return fail(ErrorCode::kInvalidArgument, "stop: more than {} strings", kMaxStops);
  for (std::size_t at = 0; at < options.stop.size(); ++at) {
    if (options.stop[at].empty() || !is_utf8(options.stop[at]))
      return fail(ErrorCode::kInvalidArgument, "stop[{}]: expected text that is not empty", at);
  }
  return Detokenizer(tokenizer, std::move(options));
}

void Detokenizer::take_characters(bool at_end) {
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    Utf8Character c = read_utf8(rest);
    if (c.cut && !at_end) break;
    if (c.valid)
      text_ += rest.substr(0, c.length);
    else
      append_utf8(text_, c.code);
    rest.remove_prefix(c.length);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
}

// How many bytes at the end of text_ are the beginning of a stop string.
std::size_t Detokenizer::possible_stop() const {
  std::size_t most = 0;
  for (const std::string& stop : options_.stop) {
    for (std::size_t length = std::min(stop.size() - 1, text_.size()); length > most; --length) {
      if (std::string_view(text_).ends_with(std::string_view(stop).substr(0, length)))
        most = length;
    }
  }
  return most;
}

std::string Detokenizer::release(bool at_end) {
  std::size_t end = std::string::npos;
  std::size_t begin = std::string::npos;
  for (std::size_t at = 0; at < options_.stop.size(); ++at) {
    const std::string& stop = options_.stop[at];
    std::size_t from = searched_ >= stop.size() ? searched_ + 1 - stop.size() : 0;
    std::size_t found = text_.find(stop, from);
    if (found == std::string::npos) continue;
    if (std::pair(found + stop.size(), found) < std::pair(end, begin)) {
      begin = found;
      end = found + stop.size();
      stopped_by_ = at;
    }
  }
  std::size_t ready = stopped_by_ ? begin : text_.size() - (at_end ? 0 : possible_stop());
  std::string out = text_.substr(0, ready);
  text_.erase(0, ready);
  if (stopped_by_) {
    text_.clear();
    bytes_.clear();
  }
  searched_ = text_.size();
  return out;
}

std::string Detokenizer::push(TokenId id) {
  if (stopped_by_ || (options_.skip_special && tokenizer_->is_special(id))) return {};
  joiner_.push(id, bytes_);
  take_characters(false);
  return release(false);
}

std::string Detokenizer::finish() {
  if (stopped_by_) return {};
  joiner_.finish(bytes_);
  take_characters(true);
  return release(true);
}

}  // namespace kw::lm
