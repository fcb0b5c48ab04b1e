#include "src/device/activity.h"

#include "src/base/install_paths.h"
#include "src/device/module_loader.h"

namespace ptbench {

const ActivityInterface* find_activity(const std::string& device) {
  if (!device.starts_with("cuda")) return nullptr;
  const Module module =
      load_module(install_paths().modules, "cuda", kActivityInterface, kActivityAbi);
  return module.loaded() ? static_cast<const ActivityInterface*>(module.interface) : nullptr;
}

}  // namespace ptbench
