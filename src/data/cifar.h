#pragma once

#include <filesystem>

#include "src/data/directory_format.h"
#include "src/data/pixel_source.h"

namespace ptbench {

/// CIFAR-10's binary version (https://www.cs.toronto.edu/~kriz/cifar.html): five files to train on
/// and one to test on, of records of one label byte and 3 × 32 × 32 pixel bytes. Samples of that
/// shape.
[[nodiscard]] DirectoryFormat cifar_format();

/// Adds the records of one file to `part`. Throws a usage error that names the file, and the record
/// where there is one to blame, unless it consists of at least one whole record with labels from 0
/// to 9.
void read_cifar(const std::filesystem::path& path, PixelPart& part);

}  // namespace ptbench
