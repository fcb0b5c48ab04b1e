#include "src/device/module_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace ptbench {
namespace {

/// dlerror's text; the call forgets it.
std::string last_error() {
  const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one for each thread
  return error == nullptr ? "unknown error" : error;
}

Module failed(Module module, ModuleState state, std::string detail) {
  module.state = state;
  module.detail = std::move(detail);
  return module;
}

/// What a module without the wanted version is.
Module refused(Module module, ModuleEntry entry, const std::string& interface, unsigned abi) {
  const auto* version = static_cast<const unsigned*>(entry(interface.c_str(), 0));
  if (version == nullptr)
    return failed(std::move(module), ModuleState::unusable,
                  fmt::format("it has no interface '{}'", interface));
  return failed(std::move(module), ModuleState::abi_mismatch,
                fmt::format("its interface '{}' has version {}, this ptbench needs {}", interface,
                            *version, abi));
}

}  // namespace

std::string module_file_name(std::string_view module) {
  return fmt::format("libptbench_{}.so", module);
}

std::string name_of(ModuleState state) {
  switch (state) {
    case ModuleState::absent: return "module absent";
    case ModuleState::library_absent: return "library absent";
    case ModuleState::unusable: return "module unusable";
    case ModuleState::abi_mismatch: return "module of another version";
    case ModuleState::loaded: return "ready";
  }
  return "unknown";
}

ModuleFault fault_of(const Module& module, std::string getting_it, std::string_view providers) {
  const std::string path = module.path.string();
  switch (module.state) {
    case ModuleState::absent:
      return {.detail = fmt::format("there is no module {}", path),
              .remedy = std::move(getting_it)};
    case ModuleState::library_absent:
      return {.detail = fmt::format("the library {} is missing", module.detail),
              .remedy = fmt::format("install what has {}{}, or add its folder to LD_LIBRARY_PATH",
                                    module.detail,
                                    providers.empty() ? "" : fmt::format(" ({})", providers))};
    case ModuleState::abi_mismatch:
      return {.detail = fmt::format("{}: {}", path, module.detail),
              .remedy = "install the module that was built together with this ptbench"};
    case ModuleState::unusable:
    case ModuleState::loaded: break;
  }
  return {.detail = fmt::format("{}: {}", path, module.detail),
          .remedy = "build ptbench again and install it"};
}

std::string missing_library(std::string_view error) {
  const std::size_t end = error.find(": cannot open shared object file");
  return end == std::string_view::npos ? std::string() : std::string(error.substr(0, end));
}

Module load_module(const std::filesystem::path& folder, std::string_view name,
                   const std::string& interface, unsigned abi) {
  Module module;
  module.path = folder / module_file_name(name);
  std::error_code ignored;
  if (!std::filesystem::exists(module.path, ignored)) return module;

  void* handle = dlopen(module.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const std::string error = last_error();
    const std::string library = missing_library(error);
    if (!library.empty() && library != module.path)
      return failed(std::move(module), ModuleState::library_absent, library);
    return failed(std::move(module), ModuleState::unusable, error);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): POSIX says that it may be.
  const auto entry = reinterpret_cast<ModuleEntry>(dlsym(handle, kModuleEntry));
  if (entry == nullptr) return failed(std::move(module), ModuleState::unusable, last_error());
  module.interface = entry(interface.c_str(), abi);
  if (module.interface == nullptr) return refused(std::move(module), entry, interface, abi);
  module.state = ModuleState::loaded;
  return module;
}

}  // namespace ptbench
