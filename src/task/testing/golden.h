// The files of src/task/testdata, and what else the tests of this folder use.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/folder.h"
#include "base/testing/values.h"

namespace kw::task {

inline std::string golden(const std::string& name) {
  std::ifstream file(std::string(KW_SOURCE_DIR) + "/src/task/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace kw::task
