// KernelBench problem files. The first line is what stands behind --set (words separated by a tab),
// the rest the file: settings keep the file's lines and names, and each constant has its value.
#include <algorithm>

#include "fuzz.h"
#include "task/kernelbench.h"
#include "text/python_scan.h"

namespace kw::fuzz {

namespace {

void check_scan(const text::PythonScan& scan, std::string_view source) {
  std::size_t end = 0;
  for (const text::PythonAssignment& a : scan.assignments()) {
    KW_CHECK(a.value_begin >= end);
    KW_CHECK(a.value_begin <= a.value_end);
    KW_CHECK(a.value_end <= source.size());
    end = a.value_end;
  }
}

}  // namespace

KW_FUZZ(kernelbench, text) {
  std::string_view words = take_until(text, '\n');
  auto settings =
      task::parse_settings(words.empty() ? std::vector<std::string>{} : split(words, '\t'));
  if (!accepted(settings)) settings = task::Settings();
  text::PythonScan scan(text);
  check_scan(scan, text);
  auto module = task::make_module(text, "Model", *settings);
  if (!accepted(module)) return;
  KW_CHECK(std::count(text.begin(), text.end(), '\n') <=
           std::count(module->source.begin(), module->source.end(), '\n'));
  if (settings->empty()) KW_CHECK(module->source == text);
  text::PythonScan again(module->source);
  check_scan(again, module->source);
  KW_CHECK(again.functions() == scan.functions());
  KW_CHECK(again.classes() == scan.classes());
  for (const auto& [name, value] : *settings) {
    for (const text::PythonAssignment& a : again.assignments()) {
      if (a.name != name) continue;
      std::string found = module->source.substr(a.value_begin, a.value_end - a.value_begin);
      KW_CHECK(found == value || found.starts_with("(" + value + "\n"));
    }
  }
}

}  // namespace kw::fuzz
