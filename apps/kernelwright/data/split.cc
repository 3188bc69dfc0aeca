#include "kernelwright/data/split.h"

#include "base/text.h"
#include "data/output_pair.h"
#include "data/split.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/json_line.h"
#include "os/file.h"

namespace kw::front {
namespace {

Result<data::Unlabelled> unlabelled_of(const std::string& name) {
  if (name == "aside") return data::Unlabelled::kAside;
  if (name == "train") return data::Unlabelled::kLikeOthers;
  if (name == "fail") return data::Unlabelled::kRefused;
  return fail(ErrorCode::kInvalidArgument,
              "--unlabelled: expected aside, train or fail, not \"{}\"", printable(name, 40));
}

Result<data::SplitOptions> options_of(const DataSplitCommand& command) {
  data::SplitOptions out;
  KW_TRY(out.seed, parse_seed(command.seed));
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  if (command.validation + command.test >= 1)
    return fail(ErrorCode::kInvalidArgument, "--validation and --test leave nothing to train on");
  out.validation = command.validation;
  out.test = command.test;
  out.adjacencies = command.adjacencies;
  out.most_common = command.most_common;
  out.deeper_than = command.deeper_than;
  KW_TRY(out.unlabelled, unlabelled_of(command.unlabelled));
  return out;
}

std::string text_of(const data::SplitReport& report, const std::string& folder) {
  std::string out;
  for (std::size_t i = 0; i < data::kParts; ++i)
    out += fmt::format("{:<11} {:>9} samples {:>9} groups\n", to_string(static_cast<data::Part>(i)),
                       report.samples[i], report.groups[i]);
  if (report.unlabelled > 0)
    out += fmt::format("no labels   {} samples name no operators (data import --trace does)\n",
                       report.unlabelled);
  return out + fmt::format(
                   "held out    {} of {} operator adjacencies\n"
                   "verified    {} held-out adjacencies in train, {} deeper graphs in train, {} "
                   "groups in two parts\nwritten     {}\n",
                   report.held_out.size(), report.kinds_of_adjacencies, report.held_out_in_train,
                   report.too_deep_in_train, report.shared_groups, folder);
}

}  // namespace

Result<int> run_data_split(const DataSplitCommand& command, const Services& services) {
  KW_TRY(const data::SplitOptions options, options_of(command));
  KW_TRY(data::OutputFolder folder, data::OutputFolder::create(command.out));
  KW_TRY(data::SplitReport report, data::split_dataset(command.in, folder.partial(), options));
  Json summary = to_json(report);
  summary["options"] = {{"seed", options.seed},
                        {"validation", options.validation},
                        {"test", options.test},
                        {"held_out", options.adjacencies},
                        {"most_common", options.most_common},
                        {"deeper_than", options.deeper_than},
                        {"unlabelled", command.unlabelled}};
  KW_TRY_STATUS(os::write_file_atomic(folder.partial() / "split.json", summary.dump(1) + "\n"));
  KW_TRY_STATUS(folder.close());
  KW_TRY_STATUS(
      services.console.out(command.json ? json_line(summary) : text_of(report, command.out)));
  return 0;
}

}  // namespace kw::front
