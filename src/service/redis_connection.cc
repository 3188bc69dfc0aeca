#include "service/redis_connection.h"

#include <hiredis/hiredis.h>

#include "base/text.h"

namespace kw::service {
namespace {

timeval time_of(std::chrono::milliseconds time) {
  return {.tv_sec = static_cast<time_t>(time.count() / 1000),
          .tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

RedisReply value_of(const redisReply& reply) {
  RedisReply out;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      out.kind = RedisReply::Kind::kNumber;
      out.number = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
      out.kind = RedisReply::Kind::kList;
      for (std::size_t i = 0; i < reply.elements; ++i)
        out.list.push_back(value_of(*reply.element[i]));
      break;
    case REDIS_REPLY_NIL:
      break;
    default:
      out.kind = RedisReply::Kind::kText;
      out.text.assign(reply.str, reply.len);
  }
  return out;
}

ErrorCode code_of(std::string_view words) {
  for (std::string_view later : {"LOADING", "BUSY", "MASTERDOWN", "READONLY", "UNKILLABLE"})
    if (words.starts_with(later)) return ErrorCode::kUnavailable;
  for (std::string_view full : {"OOM", "MISCONF", "NOREPLICAS"})
    if (words.starts_with(full)) return ErrorCode::kResourceExhausted;
  for (std::string_view refused : {"NOAUTH", "WRONGPASS", "NOPERM"})
    if (words.starts_with(refused)) return ErrorCode::kPermissionDenied;
  if (words.find("FENCED") != std::string_view::npos) return ErrorCode::kAlreadyExists;
  return ErrorCode::kInvalidArgument;
}

}  // namespace

void RedisConnection::Close::operator()(redisContext* context) const {
  redisFree(context);
}

tl::unexpected<Error> RedisConnection::lost() const {
  return fail(ErrorCode::kUnavailable, "{}", context_->errstr);
}

bool RedisConnection::is_lost() const {
  return context_->err != 0;
}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address,
                                              const std::string& password,
                                              std::chrono::milliseconds timeout) {
  redisContext* context =
      redisConnectWithTimeout(address.host.c_str(), address.port, time_of(timeout));
  if (context == nullptr) return fail(ErrorCode::kResourceExhausted, "no memory for a connection");
  RedisConnection out(context);
  if (out.is_lost()) return out.lost();
  redisSetTimeout(context, time_of(timeout));
  redisEnableKeepAlive(context);
  if (!password.empty()) {
    if (auto known = out.call({"AUTH", password}); !known)
      return tl::unexpected(std::move(known).error());
  }
  if (auto chosen = out.call({"SELECT", std::to_string(address.database)}); !chosen)
    return tl::unexpected(std::move(chosen).error());
  return out;
}

Result<RedisReply> RedisConnection::call(const std::vector<std::string>& words) {
  if (is_lost()) return lost();
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
  if (!reply) return lost();
  if (reply->type != REDIS_REPLY_ERROR) return value_of(*reply);
  const std::string_view said(reply->str, reply->len);
  return fail(code_of(said), "Redis says: {}", printable(said, 300));
}

}  // namespace kw::service
