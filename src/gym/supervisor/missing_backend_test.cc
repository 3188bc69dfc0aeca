// Failures that are the machine's, and those that only look like it.
#include "gym/supervisor/missing_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using testing::HasSubstr;

task::Candidate with_source(std::string text) {
  task::Candidate candidate;
  candidate.sources = {{"main.py", std::move(text)}};
  return candidate;
}

TEST(MissingBackend, NamesWhatIsMissingAndWhatToDo) {
  auto tilelang = missing_backend(with_source("import torch\nimport tilelang.language as T\n"),
                                  "ModuleNotFoundError: No module named 'tilelang'");
  ASSERT_TRUE(tilelang);
  EXPECT_THAT(*tilelang, HasSubstr("tilelang is not installed: judge it where there is a GPU"));
  auto inlined =
      missing_backend(with_source("from torch.utils.cpp_extension import load_inline\n"
                                  "load_inline(name='a', cpp_sources='', cuda_sources=text)\n"),
                      "OSError: CUDA_HOME environment variable is not set. Please set it to your "
                      "CUDA install root.");
  ASSERT_TRUE(inlined);
  EXPECT_THAT(*inlined, HasSubstr("CUDA by load_inline"));
  auto assembly =
      missing_backend(with_source("x = tl.inline_asm_elementwise('', '', [], tl.int32)"),
                      "Unsupported: inline PTX cannot be interpreted");
  ASSERT_TRUE(assembly);
  EXPECT_THAT(*assembly, HasSubstr("inline PTX"));
  EXPECT_LT(assembly->size(), 180u);
}

TEST(MissingBackend, AFailureOfItsOwnStaysItsOwn) {
  // The package is there in words alone, or the words are of another failure.
  EXPECT_FALSE(missing_backend(with_source("# import tilelang\nimport mine\n"),
                               "ModuleNotFoundError: No module named 'tilelang'"));
  EXPECT_FALSE(
      missing_backend(with_source("try:\n    import tilelang\nexcept ImportError:\n    pass\n"),
                      "ZeroDivisionError: division by zero"));
  EXPECT_FALSE(missing_backend(with_source("x = 1"), "inline PTX cannot be interpreted"));
  EXPECT_FALSE(missing_backend(with_source("import numpyx"), "No module named 'numpyx'"));
}

}  // namespace
}  // namespace kw::gym
