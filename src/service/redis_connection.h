// RedisConnection: one connection to a Redis server, and what can be read off its address.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct redisContext;  // NOLINT(readability-identifier-naming): of hiredis

namespace kw::service {

struct RedisAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  int database = 0;
  std::string text() const;  // "redis://127.0.0.1:6379/0"
};

// redis://HOST[:PORT][/DATABASE]; kInvalidArgument says what is wrong. A password does not belong
// there: the list of processes would show it.
Result<RedisAddress> redis_address(std::string_view url);

struct RedisReply {
  enum class Kind { kNothing, kText, kNumber, kList };
  Kind kind = Kind::kNothing;
  std::string text = {};
  std::int64_t number = 0;
  std::vector<RedisReply> list = {};
};

// One thread at a time. A call waits for its answer.
class RedisConnection {
 public:
  // password: empty for none. timeout: of the connection, and of each call.
  static Result<RedisConnection> open(const RedisAddress& address, const std::string& password,
                                      std::chrono::milliseconds timeout);

  // An error of Redis's own has its words: kUnavailable where a later call can succeed (it loads,
  // it is busy, the connection is lost), kResourceExhausted where it takes no writes, else
  // kInvalidArgument. After a lost connection every call fails.
  Result<RedisReply> call(const std::vector<std::string>& words);
  bool is_lost() const;

 private:
  struct Close {
    void operator()(redisContext* context) const;
  };
  explicit RedisConnection(redisContext* context) : context_(context) {}
  tl::unexpected<Error> lost() const;

  std::unique_ptr<redisContext, Close> context_;
};

}  // namespace kw::service
