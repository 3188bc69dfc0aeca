#include "kernelwright/model/import.h"

namespace kw::front {

Json to_json(const ModelImportCommand& command) {
  return {{"file", command.file},
          {"out", command.out},
          {"dtype", command.dtype},
          {"cut_vocabulary", command.cut_vocabulary}};
}

Result<int> run_model_import(const ModelImportCommand& command, const Services& services) {
  if (command.dtype != "float32" && command.dtype != "bfloat16")
    return fail(ErrorCode::kInvalidArgument, "--dtype: expected float32 or bfloat16, not \"{}\"",
                command.dtype);
  const std::string program = (services.program_folder / "kernelwright-lm").string();
  return tl::unexpected<Error>(services.become({program, "import", to_json(command).dump()}));
}

}  // namespace kw::front
