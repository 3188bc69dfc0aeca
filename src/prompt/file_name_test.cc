// Names of files, and what only looks like one.
#include "prompt/file_name.h"

#include <gtest/gtest.h>

namespace kw::prompt {
namespace {

TEST(FileName, Shapes) {
  for (std::string_view name : {"kernel.cu", "src/a-b.h", "x.py", "a_1.cpp", "k.ptx"})
    EXPECT_TRUE(is_file_name(name)) << name;
  for (std::string_view name : {"", ".cu", "kernel", "a.txt", "../a.h", "/a.h", "a/../b.h",
                                "a//b.h", "a/.h", "a b.h", "-o.cu", "torch.nn", "a.h\n"})
    EXPECT_FALSE(is_file_name(name)) << name;
  EXPECT_FALSE(is_file_name(std::string(200, 'a').append(".h")));
}

TEST(FileName, Headings) {
  EXPECT_EQ(file_name_of_heading("### 1. `kernel.h`"), "kernel.h");
  EXPECT_EQ(file_name_of_heading("**2. main.cpp**:"), "main.cpp");
  EXPECT_EQ(file_name_of_heading("File: ./src/a.cu"), "src/a.cu");
  EXPECT_EQ(file_name_of_heading("The kernel uses a.h, see below:"), "");
  EXPECT_EQ(file_name_of_heading("a.h and b.h"), "");
  EXPECT_EQ(file_name_of_heading("torch.nn"), "");
  EXPECT_EQ(file_name_of_heading(""), "");
}

TEST(FileName, FirstComments) {
  EXPECT_EQ(file_name_of_code("\n// kernel.cu\nint a;"), "kernel.cu");
  EXPECT_EQ(file_name_of_code("/* main.cpp */"), "main.cpp");
  EXPECT_EQ(file_name_of_code("# ==== model.py ====\n"), "model.py");
  EXPECT_EQ(file_name_of_code("#include \"kernel.h\"\n"), "");
  EXPECT_EQ(file_name_of_code("// uses kernel.h\n"), "");
  EXPECT_EQ(file_name_of_code("int a;\n// kernel.cu\n"), "");
}

TEST(FileName, InAFencesInfo) {
  EXPECT_EQ(file_name_in("cpp:src/kernel.cu"), "src/kernel.cu");
  EXPECT_EQ(file_name_in("cpp title=\"kernel.h\" linenums"), "kernel.h");
  EXPECT_EQ(file_name_in("python"), "");
  EXPECT_EQ(file_name_in("a.h b.h"), "");
}

}  // namespace
}  // namespace kw::prompt
