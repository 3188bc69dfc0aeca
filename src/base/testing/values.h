// Results and JSON documents in tests.
#pragma once
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/result.h"

namespace kw {

inline Json json_of(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message()) << " in " << text;
  return value ? *value : Json();
}

// The message of a failed Result, or "no error".
template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

// A copy of a document with one value replaced (null removes the member): the planted defect of a
// validator's test.
inline Json with(Json document, const std::string& pointer, const Json& value) {
  Json::json_pointer at(pointer);
  if (value.is_null()) {
    document.at(at.parent_pointer()).erase(at.back());
  } else {
    document[at] = value;
  }
  return document;
}

}  // namespace kw
