// Cubins: what is read lies in the file, and launches are held against it.
#include "fuzz.h"
#include "gym/compile/cubin.h"

namespace kw::fuzz {

KW_FUZZ(cubin, text) {
  auto kernels = gym::read_cubin(text);
  if (!accepted(kernels)) return;
  KW_CHECK(!kernels->empty());
  task::LaunchPlan plan;
  plan.modules.resize(1);
  for (const gym::CubinKernel& kernel : *kernels) {
    KW_CHECK(!kernel.name.empty() && text.find(kernel.name) != std::string_view::npos);
    KW_CHECK(kernel.shared_bytes >= 0 && kernel.registers >= 0);
    task::PlanLaunch launch;
    launch.function = kernel.name + "x";
    plan.steps.emplace_back(std::move(launch));
  }
  auto fits = gym::check_launches(plan, 0, *kernels);
  if (!fits) check_error(fits.error());
}

}  // namespace kw::fuzz
