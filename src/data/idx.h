#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "src/base/shape.h"
#include "src/data/directory_format.h"

namespace ptbench {

/// MNIST's format (http://yann.lecun.com/exdb/mnist/): four files of bytes, each with a header of
/// big-endian 32-bit numbers; plain or gzip. Images of one channel: samples of shape 1 × rows ×
/// columns.
[[nodiscard]] DirectoryFormat idx_format();

/// The contents of one file: dimensions, outermost first, and as many bytes as their product.
struct IdxArray {
  Shape shape;
  std::vector<std::uint8_t> bytes;
};

/// Reads one file of `rank` (1 or 3) dimensions. Throws a usage error that names the file unless it
/// is one with at least one sample.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path, std::size_t rank);

}  // namespace ptbench
