#pragma once

#include <filesystem>

namespace ptbench {

/// Where the program's own files lie. Folders need not exist: who opens a file there says what is
/// missing.
struct InstallPaths {
  std::filesystem::path modules;      ///< of libptbench_*.so
  std::filesystem::path schema;       ///< of the published JSON Schemas
  std::filesystem::path python;       ///< of the Python package, for PYTHONPATH
  std::filesystem::path peers;        ///< of other engines' training scripts
  std::filesystem::path peer_python;  ///< interpreter that `scripts/peers` makes beside builds
};

/// Relative to `executable`: in an installed prefix, which may have been moved, or in a build
/// folder.
[[nodiscard]] InstallPaths install_paths_of(const std::filesystem::path& executable);

/// Of this process.
[[nodiscard]] InstallPaths install_paths();

/// Under which other processes find the executable of this one, whatever became of its file: its
/// path, or a name in /proc while this process lives.
[[nodiscard]] std::filesystem::path executable_for_others();

/// Where choices of operators and what is compiled for them are kept between runs:
/// $XDG_CACHE_HOME/ptbench or ~/.cache/ptbench; empty where neither variable names a folder.
[[nodiscard]] std::filesystem::path cache_folder();

}  // namespace ptbench
