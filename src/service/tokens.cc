#include "service/tokens.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "net/auth.h"

namespace kw::service {
namespace {

constexpr std::size_t kDigestDigits = 64;
constexpr int kLargestWeight = 1000;

Result<std::int64_t> whole(std::string_view word, std::int64_t least, std::int64_t most) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc() && end == word.data() + word.size() && out >= least && out <= most)
    return out;
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is no whole number from {} to {}",
              printable(word, 40), least, most);
}

// The day's end, in UTC.
Result<Tokens::Time> end_of_day(std::string_view word) {
  namespace chrono = std::chrono;
  if (word.size() == 10 && word[4] == '-' && word[7] == '-') {
    KW_TRY(const std::int64_t y, whole(word.substr(0, 4), 1970, 9999));
    KW_TRY(const std::int64_t m, whole(word.substr(5, 2), 1, 12));
    KW_TRY(const std::int64_t d, whole(word.substr(8, 2), 1, 31));
    const chrono::year_month_day day{chrono::year(static_cast<int>(y)),
                                     chrono::month(static_cast<unsigned>(m)),
                                     chrono::day(static_cast<unsigned>(d))};
    if (day.ok() && y < 2200) return chrono::sys_days(day) + chrono::days(1);
  }
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is no day like 2027-12-31", printable(word, 40));
}

Result<unsigned> scopes_of(std::string_view words) {
  unsigned out = 0;
  for (const std::string& word : split(words, ',')) {
    if (word == "submit") {
      out |= static_cast<unsigned>(Scope::kSubmit);
    } else if (word == "read") {
      out |= static_cast<unsigned>(Scope::kRead);
    } else if (word == "work") {
      out |= static_cast<unsigned>(Scope::kWork);
    } else {
      return fail(ErrorCode::kInvalidArgument,
                  "unknown scope \"{}\"; there are submit, read and work", printable(word, 40));
    }
  }
  return out;
}

}  // namespace

// "sha256:HEX tenant=NAME scopes=submit,read expires=2027-12-31 most_open=1000 weight=2", or the
// token itself in the place of its hash.
Result<Tokens::Entry> Tokens::entry_of(std::string_view line) {
  Entry out;
  bool is_first = true;
  for (const std::string& word : split(line, ' ')) {
    if (word.empty()) continue;
    if (std::exchange(is_first, false)) {
      constexpr std::string_view kHash = "sha256:";
      out.digest = word.starts_with(kHash) ? word.substr(kHash.size()) : sha256_hex(word);
      const bool is_hash = out.digest.size() == kDigestDigits &&
                           out.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
      if (!is_hash || (!word.starts_with(kHash) && word.size() < net::ApiKeys::kShortestKey))
        return fail(ErrorCode::kInvalidArgument,
                    "expected sha256: and 64 lower case digits, or a token of {} characters or "
                    "more",
                    net::ApiKeys::kShortestKey);
      out.identity.token = out.digest.substr(0, 8);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    // A tenant's name stands before those that it gives, and "/" between them.
    if (key == "tenant" && !value.empty() && value.size() <= 200 &&
        value.find('/') == std::string::npos) {
      out.identity.tenant = value;
    } else if (key == "scopes") {
      KW_TRY(out.identity.scopes, scopes_of(value));
    } else if (key == "expires") {
      KW_TRY(out.expires, end_of_day(value));
    } else if (key == "most_open") {
      KW_TRY(const std::int64_t most, whole(value, 1, 1'000'000));
      out.identity.most_open = static_cast<std::size_t>(most);
    } else if (key == "most_bytes") {
      KW_TRY(const std::int64_t most, whole(value, 1, std::int64_t{1} << 40U));
      out.identity.most_bytes = static_cast<std::size_t>(most);
    } else if (key == "most_seconds") {
      KW_TRY(out.identity.most_seconds, whole(value, 1, 1'000'000'000));
    } else if (key == "weight") {
      KW_TRY(const std::int64_t weight, whole(value, 1, kLargestWeight));
      out.identity.weight = static_cast<int>(weight);
    } else {
      return fail(ErrorCode::kInvalidArgument,
                  "\"{}\": there are tenant=, scopes=, expires=, most_open=, most_bytes=, "
                  "most_seconds= and weight=",
                  printable(key, 40));
    }
  }
  return out;
}

Result<Tokens> Tokens::parse(std::string_view text) {
  Tokens out;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with('#')) continue;
    auto entry = entry_of(words);
    if (!entry)
      return tl::unexpected(std::move(entry).error().with_context(fmt::format("line {}", number)));
    const bool is_there = std::ranges::any_of(
        out.entries_, [&](const Entry& other) { return other.digest == entry->digest; });
    if (is_there) return fail(ErrorCode::kInvalidArgument, "line {}: the same token again", number);
    out.entries_.push_back(std::move(*entry));
  }
  if (out.entries_.empty()) return fail(ErrorCode::kInvalidArgument, "no token in it");
  return out;
}

Result<Tokens> Tokens::from_file(const std::filesystem::path& path) {
  KW_TRY(const std::string text, net::read_key_file(path));
  auto out = parse(text);
  if (!out) return tl::unexpected(std::move(out).error().with_context(path.string()));
  return out;
}

// Every entry is compared, whichever fits.
Result<Identity> Tokens::identity(const net::Request& request, Time now) const {
  const auto key = net::presented_key(request);
  if (!key)
    return fail(ErrorCode::kPermissionDenied, "this server wants Authorization: Bearer TOKEN");
  const std::string digest = sha256_hex(*key);
  const Entry* found = nullptr;
  for (const Entry& each : entries_)
    if (net::constant_time_equal(each.digest, digest)) found = &each;
  if (found == nullptr) return fail(ErrorCode::kPermissionDenied, "the token is not known here");
  if (found->expires <= now) return fail(ErrorCode::kPermissionDenied, "the token has expired");
  return found->identity;
}

}  // namespace kw::service
