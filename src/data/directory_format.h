#pragma once

#include <filesystem>
#include <string_view>

#include "src/data/source.h"

namespace ptbench {

/// A way in which data lie in a directory; a row of the table in source.cpp.
struct DirectoryFormat {
  std::string_view name;   ///< "IDX"
  std::string_view files;  ///< the files that it consists of, for messages
  /// Whether `directory` holds any of its files: then it is this format, complete or not.
  bool (*recognises)(const std::filesystem::path& directory);
  /// The shape of the samples to train on, from their header alone. Throws usage errors as `load`.
  Shape (*sample_shape)(const std::filesystem::path& directory);
  /// Reads it all; `source` is filled in by the caller. Throws usage errors as `load_directory`.
  DataSource (*load)(const std::filesystem::path& directory);
};

}  // namespace ptbench
