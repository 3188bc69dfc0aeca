// The commands of the group "model".
#include "kernelwright/model/commands.h"

#include "kernelwright/model/generate.h"
#include "kernelwright/model/import.h"
#include "kernelwright/model/merge.h"
#include "kernelwright/model/serve_model.h"

namespace kw::front {
namespace {

struct Dispatch {
  const Services& services;

  CommandOutcome operator()(const GenerateCommand& command) const {
    return run_generate(command, services);
  }
  CommandOutcome operator()(const ServeModelCommand& command) const {
    return run_serve_model(command, services);
  }
  CommandOutcome operator()(const ModelImportCommand& command) const {
    return run_model_import(command, services);
  }
  CommandOutcome operator()(const ModelMergeCommand& command) const {
    return run_model_merge(command, services);
  }
  template <typename Other>
  CommandOutcome operator()(const Other& /*command*/) const {
    return std::nullopt;
  }
};

}  // namespace

CommandOutcome run_model_command(const Command& command, const Services& services) {
  return std::visit(Dispatch{services}, command);
}

}  // namespace kw::front
