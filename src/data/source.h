#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

/// Reads a directory of IDX (MNIST's own names), CIFAR-10 or NPY files, looked for in this order,
/// each plain or .gz. Bytes become x / 255, then (x - mean) / std with the training set's own mean
/// and population standard deviation of each channel; floats are taken as they are. Samples have
/// the shape channels x rows x columns, or as many features as an NPY array has columns. Throws a
/// usage error that names the file and what is wrong with it: missing, unreadable, damaged, longer
/// or shorter than its header promises, larger than the memory, empty, of another type, samples and
/// labels of different counts, train and test of different shapes, pixels that are all the same,
/// numbers that are not finite, labels below 0.
[[nodiscard]] DataSource load_directory(const std::string& directory);

/// The shape that samples of `load_directory` will have, from the header of one file. Throws usage
/// errors likewise, where what it reads is wrong.
[[nodiscard]] Shape sample_shape_of(const std::string& directory);

/// Throws a usage error that names the part (training, test) and the sample of the first label that
/// is not below `classes`.
void check_labels(const DataSource& data, Size classes);

/// Throws a usage error that names both shapes unless the samples have the one that `workload`
/// takes.
void check_shape(const DataSource& data, const Shape& expected, std::string_view workload);

/// Throws the usage error of images that lie with their channels last, rows x columns x channels,
/// where `expected` has them first: `given` is the shape of a sample in that directory.
void refuse_channels_last(const std::string& directory, const Shape& given, const Shape& expected);

}  // namespace ptbench
