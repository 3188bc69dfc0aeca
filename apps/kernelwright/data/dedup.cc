#include "kernelwright/data/dedup.h"

#include <chrono>

#include "base/text.h"
#include "data/dedup.h"
#include "data/output_pair.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/json_line.h"

namespace kw::front {
namespace {

Result<data::ComparedBy> parse_by(const std::string& name) {
  if (name == "problem") return data::ComparedBy::kProblem;
  if (name == "answer") return data::ComparedBy::kAnswer;
  if (name == "both") return data::ComparedBy::kBoth;
  return fail(ErrorCode::kInvalidArgument, "--by: expected problem, answer or both, not \"{}\"",
              printable(name, 40));
}

}  // namespace

Result<int> run_data_dedup(const DataDedupCommand& command, const Services& services) {
  data::DedupOptions options;
  KW_TRY(options.by, parse_by(command.by));
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  if (command.threshold != 0) KW_TRY_STATUS(check_range("--threshold", command.threshold, 0.3, 1));
  options.threshold = command.threshold;
  KW_TRY(data::OutputPair out,
         data::OutputPair::create(command.out, command.removed, existing(command.replace)));
  const auto begun = services.now();
  KW_TRY(data::DedupCounts counts, data::dedup(command.in, options, out.out(), out.beside()));
  KW_TRY_STATUS(out.close());
  const double seconds = std::chrono::duration<double>(services.now() - begun).count();
  if (command.json) {
    const Json summary = {{"rows", counts.rows}, {"kept", counts.kept},   {"same", counts.same},
                          {"near", counts.near}, {"bytes", counts.bytes}, {"seconds", seconds}};
    KW_TRY_STATUS(services.console.out(json_line(summary)));
    return 0;
  }
  services.console.err(fmt::format("{} in {:.1f} s\n", format_bytes(counts.bytes), seconds));
  KW_TRY_STATUS(services.console.out(
      fmt::format("samples   {}\n  same    {}\n  near    {}\nkept      {}\nwritten   {}\n",
                  counts.rows, counts.same, counts.near, counts.kept, command.out)));
  return 0;
}

}  // namespace kw::front
