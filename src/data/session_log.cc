#include "data/session_log.h"

#include <utility>

namespace kw::data {

Result<SessionLog> SessionLog::open(const std::filesystem::path& path, const Json& header,
                                    const Visit& visit) {
  bool first = true;
  std::uint64_t end = 0;
  KW_TRY(os::Journal journal, os::Journal::open(path, [&](const std::string& text) -> Status {
           const std::uint64_t begin = std::exchange(end, end + text.size() + 1);
           KW_TRY(const Json line, parse_json(text));
           if (!std::exchange(first, false))
             return visit(line, {begin, static_cast<std::uint32_t>(text.size())});
           if (line == header) return {};
           return fail(ErrorCode::kInvalidArgument,
                       "written with other settings or by another version; give another log, or "
                       "take this one away");
         }));
  SessionLog out(std::move(journal), end);
  if (first) {
    KW_TRY(const Place ignored, out.append(header));
    static_cast<void>(ignored);
  }
  return out;
}

Result<SessionLog::Place> SessionLog::append(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  KW_TRY_STATUS(journal_.append(text));
  const Place out{end_, static_cast<std::uint32_t>(text.size())};
  end_ += text.size() + 1;
  return out;
}

}  // namespace kw::data
