// The line rules of event streams: CR, LF or CRLF end a line, also when a piece ends between them.
#include "net/sse.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"

namespace kw::net {
namespace {

// "name: line\n" for each line of text.
void append_lines(std::string& out, std::string_view prefix, std::string_view text) {
  for (;;) {
    std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    out.append(prefix).append(text.substr(0, end)).append("\n");
    if (end == text.size()) return;
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
}

}  // namespace

std::string format_event(const SseEvent& event) {
  KW_CHECK(event.type.find_first_of("\r\n") == std::string::npos);
  KW_CHECK(event.id.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  std::string out;
  out.reserve(event.data.size() + 16);
  if (!event.type.empty()) out.append("event: ").append(event.type).append("\n");
  if (!event.id.empty()) out.append("id: ").append(event.id).append("\n");
  append_lines(out, "data: ", event.data);
  out += '\n';
  return out;
}

std::string format_comment(std::string_view text) {
  std::string out;
  append_lines(out, ": ", text);
  out += '\n';
  return out;
}

Status SseParser::feed(std::string_view bytes,
                       const std::function<bool(const SseEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (event_bytes_ + line_.size() + end > max_event_bytes_)
      return fail(ErrorCode::kResourceExhausted, "an event of more than {}",
                  format_bytes(max_event_bytes_));
    line_.append(bytes.substr(0, end));
    if (end == bytes.size()) return {};
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    bool go_on = take_line(on_event);
    line_.clear();
    if (!go_on) return {};
  }
  return {};
}

bool SseParser::take_line(const std::function<bool(const SseEvent&)>& on_event) {
  std::string_view line = line_;
  if (first_line_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  first_line_ = false;
  event_bytes_ += line.size();
  if (!line.empty()) {
    std::size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
    return true;
  }
  event_bytes_ = 0;
  SseEvent event{std::move(type_), std::move(data_), last_id_};
  type_.clear();
  data_.clear();
  if (event.data.empty()) return true;
  event.data.pop_back();  // the LF after the last line
  return on_event(event);
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_.append(value).append("\n");
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) last_id_ = value;
  } else if (name == "retry" && !value.empty() &&
             std::all_of(value.begin(), value.end(), is_digit)) {
    std::int64_t milliseconds = 0;
    auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (failed == std::errc()) retry_ = std::chrono::milliseconds(milliseconds);
  }
}

}  // namespace kw::net
