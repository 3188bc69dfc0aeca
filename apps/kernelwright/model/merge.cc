#include "kernelwright/model/merge.h"

namespace kw::front {

Json to_json(const ModelMergeCommand& command) {
  return {{"model", command.model},
          {"adapter", command.adapter},
          {"out", command.out},
          {"dtype", command.dtype}};
}

Result<int> run_model_merge(const ModelMergeCommand& command, const Services& services) {
  if (!command.dtype.empty() && command.dtype != "float32" && command.dtype != "bfloat16")
    return fail(ErrorCode::kInvalidArgument, "--dtype: expected float32 or bfloat16, not \"{}\"",
                command.dtype);
  const std::string program = (services.program_folder / "kernelwright-lm").string();
  return tl::unexpected<Error>(services.become({program, "merge", to_json(command).dump()}));
}

}  // namespace kw::front
