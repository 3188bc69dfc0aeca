#include "task/language.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kw::task {
namespace {

using Names = std::span<const std::string_view>;

template <std::size_t N>
using Array = std::array<std::string_view, N>;

constexpr Array<2> kCppFiles = {".cpp", ".cc"};
constexpr Array<5> kCppTags = {"cpp", "c++", "cc", "cxx", "c"};
constexpr Array<1> kCudaFiles = {".cu"};
constexpr Array<6> kCudaTags = {"cuda", "cu", "cuda-cpp", "cpp", "c++", "c"};
constexpr Array<1> kPtxFiles = {".ptx"};
constexpr Array<3> kPtxTags = {"ptx", "asm", "assembly"};
constexpr Array<1> kCubinFiles = {".cubin"};
constexpr Array<1> kPythonFiles = {".py"};
constexpr Array<4> kTritonTags = {"python", "triton", "py", "python3"};
constexpr Array<3> kPythonTags = {"python", "py", "python3"};
constexpr Array<4> kTilelangTags = {"python", "tilelang", "py", "python3"};

constexpr std::array<LanguageFacts, 7> kLanguages = {{
    {Language::kCpp, "cpp", "C++20", Syntax::kC, kCppFiles, kCppTags},
    {Language::kCuda, "cuda", "CUDA", Syntax::kC, kCudaFiles, kCudaTags, true},
    {Language::kPtx, "ptx", "PTX", Syntax::kAssembly, kPtxFiles, kPtxTags, true},
    {Language::kCubin, "cubin", "cubin", Syntax::kBinary, kCubinFiles, Names(), true},
    {Language::kTriton, "triton", "Triton (Python)", Syntax::kPython, kPythonFiles, kTritonTags},
    {Language::kPython, "python", "Python (PyTorch)", Syntax::kPython, kPythonFiles, kPythonTags},
    {Language::kTilelang, "tilelang", "TileLang (Python)", Syntax::kPython, kPythonFiles,
     kTilelangTags},
}};

}  // namespace

const LanguageFacts& facts_of(Language language) {
  const auto* found = std::ranges::find(kLanguages, language, &LanguageFacts::language);
  KW_CHECK(found != kLanguages.end());
  return *found;
}

std::span<const LanguageFacts> all_languages() {
  return kLanguages;
}

std::string_view to_string(Language language) {
  return facts_of(language).name;
}

std::optional<Language> language_from_string(std::string_view name) {
  const auto* found = std::ranges::find(kLanguages, name, &LanguageFacts::name);
  if (found == kLanguages.end()) return std::nullopt;
  return found->language;
}

}  // namespace kw::task
