#include "data/data_card.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "data/export_row.h"

namespace kw::data {
namespace {

std::string size_category(std::uint64_t samples) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 6> kSizes = {
      {{1000, "n<1K"},
       {10000, "1K<n<10K"},
       {100000, "10K<n<100K"},
       {1000000, "100K<n<1M"},
       {10000000, "1M<n<10M"},
       {100000000, "10M<n<100M"}}};
  for (const auto& [bound, name] : kSizes) {
    if (samples < bound) return name;
  }
  return "100M<n<1B";
}

std::string yaml_text(const std::string& text) {
  return Json(printable(text, 200)).dump();
}

std::string yaml_head(const std::string& name, const Stats& stats,
                      const std::vector<ExportedPart>& parts) {
  const bool one_licence = stats.licences.size() == 1;
  std::string out = fmt::format("---\npretty_name: {}\n", yaml_text(name));
  // The Hub knows lower-case names; several, or none that is known, are "other".
  std::string licence = one_licence ? stats.licences.begin()->first : "";
  std::transform(licence.begin(), licence.end(), licence.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  out += fmt::format("license: {}\n", one_licence ? yaml_text(licence) : "other");
  out += "language:\n- en\n- code\ntask_categories:\n- text-generation\ntags:\n- kernels\n- code\n";
  out += fmt::format("size_categories:\n- {}\nconfigs:\n- config_name: default\n  data_files:\n",
                     size_category(stats.samples));
  for (const ExportedPart& part : parts)
    out += fmt::format("  - split: {}\n    path: {}\n", part.name, part.file);
  return out + "---\n";
}

std::string markdown_table(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return "";
  std::string out = fmt::format("\n| {} | samples |\n|---|---|\n", title);
  for (const auto& [name, count] : counts)
    out += fmt::format("| {} | {} |\n", printable(name, 80), count);
  return out;
}

}  // namespace

std::string data_card(const std::string& name, const Stats& stats,
                      const std::vector<ExportedPart>& parts) {
  std::uint64_t judged = 0;
  for (const auto& [outcome, count] : stats.outcomes) judged += count;
  auto passed = stats.outcomes.find("passed");
  std::string out = yaml_head(name, stats, parts);
  out += fmt::format(
      "\n# {}\n\n{} samples of {} problems: chat messages about kernels, with where "
      "each came from.\n\n| part | samples |\n|---|---|\n",
      printable(name, 200), stats.samples, stats.problems);
  for (const ExportedPart& part : parts)
    out += fmt::format("| {} | {} |\n", part.name, part.samples);
  out += markdown_table("kind", stats.kinds) + markdown_table("language", stats.languages);
  out += "\n## Verification\n\n";
  out += fmt::format(
      "{} answers were compiled, run and compared with their reference by Kernelwright's gym, and "
      "{} "
      "of these passed. {} samples have no verdict: nobody has run their code.\n",
      judged, passed == stats.outcomes.end() ? 0 : passed->second, stats.samples - judged);
  out += markdown_table("outcome", stats.outcomes);
  out += "\n## Origin and licences\n";
  out += markdown_table("origin", stats.origins);
  out += stats.licences.empty() ? "\nNo row names a licence.\n"
                                : markdown_table("licence of the source", stats.licences);
  out += "\n## Columns\n\n| column | content |\n|---|---|\n";
  for (const ExportColumn& column : export_columns())
    out += fmt::format("| `{}` | {} |\n", column.name, column.meaning);
  return out;
}

}  // namespace kw::data
