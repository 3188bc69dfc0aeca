#include "kernelwright/data/stats.h"

#include <filesystem>

#include "data/files.h"
#include "data/stats.h"
#include "kernelwright/data/stats_page.h"
#include "kernelwright/json_line.h"
#include "os/file.h"

namespace kw::front {
namespace {

Json json_of(const StatsOfData& all) {
  Json out = to_json(all.samples);
  if (all.dedup) out["removed"] = to_json(*all.dedup);
  if (all.benchmarks) out["decontaminated"] = to_json(*all.benchmarks);
  return out;
}

std::string text_of(const StatsOfData& all) {
  std::string out = to_text(all.samples);
  if (all.dedup) out += to_text(*all.dedup);
  if (all.benchmarks) out += to_text(*all.benchmarks);
  return out;
}

}  // namespace

Result<int> run_data_stats(const DataStatsCommand& command, const Services& services) {
  data::StatsCollector collector;
  KW_TRY_STATUS(
      data::for_each_sample(command.in, [&](const data::Sample& sample, std::string_view) {
        collector.add(sample);
        return Status();
      }));
  StatsOfData all{collector.finish(), std::nullopt, std::nullopt};
  if (!command.removed.empty()) {
    KW_TRY(all.dedup, data::read_dedup_removals(command.removed));
  }
  if (!command.decontaminated.empty()) {
    KW_TRY(all.benchmarks, data::read_benchmark_removals(command.decontaminated));
  }
  if (!command.html.empty()) {
    const std::string name = std::filesystem::path(command.in).filename().string();
    KW_TRY_STATUS(os::write_file_atomic(command.html, report::to_html(stats_page(all, name))));
    services.console.err(fmt::format("page      {}\n", command.html));
  }
  KW_TRY_STATUS(services.console.out(command.json ? json_line(json_of(all)) : text_of(all)));
  return 0;
}

}  // namespace kw::front
