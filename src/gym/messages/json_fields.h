// JSON codecs from one list of fields. A message is a struct; `template <typename Fields,
// Is<Message> M> void fields(Fields& f, M& m)` names each member once, and writer and reader are
// made from that list, so they cannot disagree and a misspelt member does not compile. Threads:
// values and free functions.
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "task/target.h"

namespace kw::gym {

// M is the message T, or T const while it is written.
template <typename M, typename T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// A reader treats keys in one of two ways.
enum class Reading {
  kStrict,   // a message of a process of the same build: each key is there, and no other
  kLenient,  // a stored file: keys may be missing (the member keeps its value), others are ignored
};

// The last enumerator of an enum whose to_string() names all enumerators from 0 on.
template <typename Enum>
inline constexpr Enum kLastOf = Enum{};

template <>
inline constexpr auto kLastOf<task::Target> = task::Target::kCuda;

template <typename Enum>
std::optional<Enum> enumerator_from_string(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(kLastOf<Enum>); ++i)
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  return std::nullopt;
}

class FieldWriter {
 public:
  static constexpr bool kIsLenient = false;

  template <typename T>
  void operator()(const char* key, const T& value) {
    out_[key] = encode(value);
  }
  // An absent value has no key.
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) out_[key] = encode(*value);
  }
  template <typename T>
  void required(const char* key, const T& value) {
    out_[key] = encode(value);
  }
  // An absent value is null.
  template <typename T>
  void or_null(const char* key, const std::optional<T>& value) {
    out_[key] = value ? encode(*value) : Json(nullptr);
  }
  void or_infinite(const char* key, double value) { out_[key] = encode(value); }

  Json take() { return std::move(out_); }

  template <typename T>
  static Json encode(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value) ? Json(value) : Json(nullptr);
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string> ||
                         std::same_as<T, Json>) {
      return value;
    } else if constexpr (requires(FieldWriter& f) { fields(f, value); }) {
      FieldWriter writer;
      fields(writer, value);
      return writer.take();
    } else {
      return to_json(value);
    }
  }
  template <typename T>
  static Json encode(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(encode(value));
    return out;
  }
  template <typename T>
  static Json encode(const std::map<std::string, T>& values) {
    Json out = Json::object();
    for (const auto& [name, value] : values) out[name] = encode(value);
    return out;
  }

 private:
  Json out_ = Json::object();
};

// Keeps the first error. Members behind it keep their values.
class FieldReader {
 public:
  FieldReader(ObjectReader reader, Reading how) : reader_(std::move(reader)), how_(how) {}

  bool is_lenient() const { return how_ == Reading::kLenient; }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (is_lenient() && !reader_.has(key)) return;
    read(key, value);
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (!status_ || !reader_.has(key)) return;
    if (is_lenient() && reader_.find(key) == nullptr) return;
    required(key, value.emplace());
  }
  // This key must be in stored files too.
  template <typename T>
  void required(const char* key, T& value) {
    if (!status_) return;
    const Json* json = reader_.find(key);
    if (json == nullptr) {
      status_ = fail(ErrorCode::kInvalidArgument, "{}: missing", reader_.path(key));
    } else {
      status_ = decode(*json, reader_.path(key), how_, value);
    }
  }
  template <typename T>
  void or_null(const char* key, std::optional<T>& value) {
    if (!is_lenient() && status_ && !reader_.has(key))
      status_ = fail(ErrorCode::kInvalidArgument, "{}: missing", reader_.path(key));
    if (status_ && reader_.find(key) != nullptr) required(key, value.emplace());
  }
  // A number that nobody recorded is infinite, too.
  void or_infinite(const char* key, double& value) {
    value = std::numeric_limits<double>::infinity();
    (*this)(key, value);
  }

  Status finish() {
    if (status_ && !is_lenient()) status_ = reader_.no_other_keys();
    return std::move(status_);
  }

  template <typename T>
  static Status decode(const Json& json, const std::string& where, Reading how, T& out) {
    if constexpr (std::same_as<T, bool>) {
      if (!json.is_boolean()) return expected(where, "true or false");
      out = json.get<bool>();
    } else if constexpr (std::is_enum_v<T>) {
      if (!json.is_string()) return expected(where, "a string");
      const auto& name = json.get_ref<const std::string&>();
      auto value = enumerator_from_string<T>(name);
      if (!value)
        return fail(ErrorCode::kInvalidArgument, "{}: unknown name {}", where, printable(name, 40));
      out = *value;
    } else if constexpr (std::is_integral_v<T>) {
      return decode_whole(json, where, out);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) return expected(where, "a number");
      out = json.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!json.is_string()) return expected(where, "a string");
      out = json.get<std::string>();
    } else if constexpr (std::same_as<T, Json>) {
      out = json;
    } else if constexpr (requires(FieldReader& f) { fields(f, out); }) {
      KW_TRY(ObjectReader reader, ObjectReader::make(json, where));
      FieldReader nested(std::move(reader), how);
      fields(nested, out);
      return nested.finish();
    } else {
      return read_json(json, where, how, out);
    }
    return {};
  }
  template <typename T>
  static Status decode(const Json& json, const std::string& where, Reading how,
                       std::vector<T>& out) {
    if (!json.is_array()) return expected(where, "a list");
    out.clear();
    for (const Json& item : json) KW_TRY_STATUS(decode(item, where, how, out.emplace_back()));
    return {};
  }
  template <typename T>
  static Status decode(const Json& json, const std::string& where, Reading how,
                       std::map<std::string, T>& out) {
    if (!json.is_object()) return expected(where, "an object");
    out.clear();
    for (const auto& [name, item] : json.items())
      KW_TRY_STATUS(decode(item, where + "." + printable(name, 80), how, out[name]));
    return {};
  }

 private:
  static Status expected(const std::string& where, std::string_view kind) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected {}", where, kind);
  }

  template <std::integral T>
  static Status decode_whole(const Json& json, const std::string& where, T& out) {
    if (json.is_number_unsigned() && std::in_range<T>(json.get<std::uint64_t>())) {
      out = static_cast<T>(json.get<std::uint64_t>());
    } else if (json.is_number_integer() && !json.is_number_unsigned() &&
               std::in_range<T>(json.get<std::int64_t>())) {
      out = static_cast<T>(json.get<std::int64_t>());
    } else {
      return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from {} to {}", where,
                  std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    }
    return {};
  }

  template <typename T>
  void read(const char* key, T& value) {
    if (!status_) return;
    if constexpr (std::is_floating_point_v<T>) {
      // JSON has no infinity; a stored file may have null for a missing number.
      if (reader_.has(key) && reader_.find(key) == nullptr) {
        if (!is_lenient()) value = std::numeric_limits<T>::infinity();
        return;
      }
    } else {
      if (is_lenient() && reader_.find(key) == nullptr) return;
    }
    required(key, value);
  }

  ObjectReader reader_;
  Reading how_;
  Status status_;
};

template <typename T>
Json json_of_fields(const T& message) {
  return FieldWriter::encode(message);
}

template <typename T>
Result<T> message_of_json(const Json& value, const std::string& where,
                          Reading how = Reading::kStrict) {
  T out;
  KW_TRY_STATUS(FieldReader::decode(value, where, how, out));
  return out;
}

}  // namespace kw::gym
