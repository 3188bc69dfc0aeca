#include "kernelwright/data/stats.h"

#include <filesystem>

#include "data/files.h"
#include "data/stats.h"
#include "kernelwright/data/stats_page.h"
#include "os/file.h"

namespace kw::front {

Result<int> run_data_stats(const DataStatsCommand& command, const Services& services) {
  data::StatsCollector collector;
  KW_TRY_STATUS(
      data::for_each_sample(command.in, [&](const data::Sample& sample, std::string_view) {
        collector.add(sample);
        return Status();
      }));
  const data::Stats stats = collector.finish();
  if (!command.html.empty()) {
    const std::string name = std::filesystem::path(command.in).filename().string();
    KW_TRY_STATUS(os::write_file_atomic(command.html, report::to_html(stats_page(stats, name))));
    services.console.err(fmt::format("page      {}\n", command.html));
  }
  KW_TRY_STATUS(services.console.out(
      command.json ? to_json(stats).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                   : to_text(stats)));
  return 0;
}

}  // namespace kw::front
