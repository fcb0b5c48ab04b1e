#pragma once

#include <cstdint>
#include <string>

#include "src/base/shape.h"
#include "src/data/dataset.h"

namespace ptbench {

/// What synthetic data looks like.
struct SyntheticSpec {
  Shape sample_shape;
  Size classes = 0;
  Size samples = 0;
  std::uint64_t seed = 0;
};

/// Standard normal noise plus a weak pattern of the label's class, so that a loss can fall. A
/// function of (seed, index) alone: fewer samples are a prefix of more. Labels are uniform. Throws
/// a usage error for fewer samples than 1, or more than the memory holds.
[[nodiscard]] DataSource synthetic_data(const SyntheticSpec& spec);

/// Reads a directory of IDX files (MNIST's own names, plain or .gz): bytes become x / 255, then
/// (x - mean) / std with the training set's own mean and population standard deviation. Samples
/// have the shape channels x rows x columns. Throws a usage error that names the file and what is
/// wrong with it: missing, unreadable, damaged, longer or shorter than its header promises, larger
/// than the memory, empty, of another type, images and labels of different counts, train and test
/// of different shapes, pixels that are all the same.
[[nodiscard]] DataSource load_directory(const std::string& directory);

/// Throws a usage error that names the part (training, test) and the sample of the first label that
/// is not below `classes`.
void check_labels(const DataSource& data, Size classes);

}  // namespace ptbench
