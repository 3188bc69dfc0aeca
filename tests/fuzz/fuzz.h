// What the harnesses share. A harness is KW_FUZZ(text) { ... }: it gives any bytes to one reader
// and checks with KW_CHECK what must hold, whatever the bytes are.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/result.h"
#include "base/text.h"

// Defines the harness `name` and enters it in harnesses().
#define KW_FUZZ(name, text)                                                                    \
  static void fuzz_##name(std::string_view text);                                              \
  [[maybe_unused]] static const bool kEntered_##name = kw::fuzz::enter({#name, &fuzz_##name}); \
  static void fuzz_##name(std::string_view text)

namespace kw::fuzz {

struct Harness {
  std::string name;
  void (*run)(std::string_view text);
};
inline std::vector<Harness>& harnesses() {
  static std::vector<Harness> all;
  return all;
}
inline bool enter(Harness harness) {
  harnesses().push_back(std::move(harness));
  return true;
}

// No message repeats more of its input than a person can read.
inline constexpr std::size_t kMaxMessage = 8192;

// What every error must be: no bug of ours, and a message that can be printed and stored.
inline void check_error(const Error& error) {
  KW_CHECK(error.code() != ErrorCode::kInternal);
  KW_CHECK(!error.message().empty());
  KW_CHECK(error.message().size() <= kMaxMessage);
  KW_CHECK(is_valid_utf8(error.message()));
}

template <typename T>
bool accepted(const Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

// Cuts `text` at the first `separator`; all of it where there is none.
inline std::string_view take_until(std::string_view& text, char separator) {
  auto at = text.find(separator);
  std::string_view front = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return front;
}

// A reader and a writer of JSON: what was accepted is written, read and written again with the same
// bytes. Returns whether it was accepted.
template <typename Read, typename Write>
bool round_trip(std::string_view text, Read read, Write write) {
  auto parsed = parse_json(text);
  if (!accepted(parsed)) return false;
  auto value = read(*parsed);
  if (!accepted(value)) return false;
  Json written = write(*value);
  auto stored = parse_json(written.dump());
  KW_CHECK(stored);
  auto again = read(*stored);
  KW_CHECK(again);
  KW_CHECK(write(*again).dump() == written.dump());
  return true;
}

}  // namespace kw::fuzz
