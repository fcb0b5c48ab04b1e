#include "tests/cuda_emulator/device/kernels.h"

#include <dlfcn.h>

#include <sstream>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

Kernels::Kernels(const std::string& libraries) {
  std::istringstream paths(libraries);
  for (std::string path; std::getline(paths, path, ':');)
    if (!path.empty()) open(path);
}

void Kernels::open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) report(text("PTBENCH_EMULATOR_KERNELS: ", dlerror()));
  const auto* table = static_cast<const KernelLibrary*>(dlsym(library, "ptbench_emulator_kernels"));
  if (table == nullptr)
    report(text("PTBENCH_EMULATOR_KERNELS: ", path, " holds no translated kernels"));
  for (U32 index = 0; index < table->kernel_count; ++index)
    kernels_.emplace(table->kernels[index].name, &table->kernels[index]);
  for (U32 index = 0; index < table->variable_count; ++index)
    variables_.emplace(table->variables[index].name, &table->variables[index]);
  checks_ = checks_ || table->checks;
}

const Kernel& Kernels::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end())
    report(text("kernel ", readable_name(name.c_str()),
                " is not among the translated ones: PTBENCH_EMULATOR_KERNELS names the libraries "
                "of another module, or none"));
  return *found->second;
}

const Variable* Kernels::variable(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second;
}

const Variable* Kernels::variable_at(const void* address) const {
  const auto* byte = static_cast<const U8*>(address);
  for (const auto& [name, variable] : variables_) {
    const auto* begin = static_cast<const U8*>(variable->address);
    if (byte >= begin && byte < begin + variable->bytes) return variable;
  }
  return nullptr;
}

}  // namespace ptbench::emulator
