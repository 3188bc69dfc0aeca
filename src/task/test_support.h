// For this folder's tests: temporary folders with files, golden files, and matchers on Results.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.h"
#include "base/result.h"

namespace kw::task {

// Removed with everything in it at the end of the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kw_task_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes a file, with its folders, and returns its path.
  std::filesystem::path write(const std::string& relative, std::string_view content) const {
    std::filesystem::path file = path_ / relative;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline std::string golden(const std::string& name) {
  std::ifstream file(std::string(KW_SOURCE_DIR) + "/src/task/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

}  // namespace kw::task
