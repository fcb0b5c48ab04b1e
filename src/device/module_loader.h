#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace ptbench {

/// How far opening an engine module came.
enum class ModuleState {
  absent,          ///< there is no such file
  library_absent,  ///< it needs a library that this machine does not have
  unusable,        ///< not a module of ptbench, or without the interface that was asked for
  abi_mismatch,    ///< built for another version of the interface
  loaded,
};

/// An engine module (libptbench_NAME.so) that was opened at run time, or why it was not. The module
/// stays in memory until the process ends: the libraries below it may have threads and exit
/// handlers that cannot be taken back.
struct Module {
  ModuleState state = ModuleState::absent;
  std::filesystem::path path;
  std::string detail;               ///< library_absent: its name; else what was wrong
  const void* interface = nullptr;  ///< when loaded: of the type that the interface's header names

  [[nodiscard]] bool loaded() const { return state == ModuleState::loaded; }
};

/// What a module exports under the name kModuleEntry, with C linkage:
///
///     const void* ptbench_module_interface(const char* name, unsigned abi);
///
/// The interface `name` in version `abi`, or null where the module does not have it. Asked for
/// version 0, it gives a pointer to the `unsigned` version that it has, or null where it does not
/// know the name: so the loader tells a module of another version from one of another kind.
using ModuleEntry = const void* (*)(const char* name, unsigned abi);
inline constexpr const char* kModuleEntry = "ptbench_module_interface";

/// "libptbench_cuda.so" for "cuda".
[[nodiscard]] std::string module_file_name(std::string_view module);

/// Opens the module `name` in `folder` and asks it for `interface` in version `abi` (from 1). Never
/// throws for a module that cannot be used.
[[nodiscard]] Module load_module(const std::filesystem::path& folder, std::string_view name,
                                 const std::string& interface, unsigned abi);

/// "module absent", "library absent", "module of another version", "module unusable", "ready".
[[nodiscard]] std::string name_of(ModuleState state);

/// What people are told of a module that was not loaded.
struct ModuleFault {
  std::string detail;  ///< what is missing, or wrong
  std::string remedy;
};

/// Of a module that is not loaded. `getting_it`: what to do where there is no such file;
/// `providers`: what brings the libraries that it needs, in a few words; empty: their names tell.
[[nodiscard]] ModuleFault fault_of(const Module& module, std::string getting_it,
                                   std::string_view providers = {});

/// `error` as dlerror gives it: the name of the library that could not be found, or empty when it
/// says something else.
[[nodiscard]] std::string missing_library(std::string_view error);

}  // namespace ptbench
