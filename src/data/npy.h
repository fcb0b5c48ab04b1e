#pragma once

#include "src/data/directory_format.h"

namespace ptbench {

/// Arrays saved from Python: samples and labels to train and to test on, four .npy files. Floats
/// are taken as they are, bytes are normalised. Samples have the array's shape without its first
/// dimension.
[[nodiscard]] DirectoryFormat npy_format();

}  // namespace ptbench
