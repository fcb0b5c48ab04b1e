#pragma once

#include "src/data/directory_format.h"

namespace ptbench {

/// MNIST's format (http://yann.lecun.com/exdb/mnist/): four files of bytes, each with a header of
/// big-endian 32-bit numbers; plain or gzip. Images of one channel: samples of shape 1 × rows ×
/// columns.
[[nodiscard]] DirectoryFormat idx_format();

}  // namespace ptbench
