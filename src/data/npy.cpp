#include "src/data/npy.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/error.h"
#include "src/data/byte_file.h"
#include "src/data/directory_files.h"
#include "src/data/npy_file.h"
#include "src/data/pixel_source.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

using Floats = std::vector<float>;
using Pixels = std::vector<std::uint8_t>;

struct NpyFileNames {
  const char* samples;
  const char* labels;
};
constexpr NpyFileNames kNpyTrain{"train_x.npy", "train_y.npy"};
constexpr NpyFileNames kNpyTest{"test_x.npy", "test_y.npy"};

/// Samples with labels, as they lie in the files.
struct NpyPart {
  NpySamples samples;
  std::vector<std::int32_t> labels;
};

NpyPart read_npy_part(const fs::path& directory, const NpyFileNames& names) {
  const fs::path samples = require_file(directory, names.samples, "NPY");
  const fs::path labels = require_file(directory, names.labels, "NPY");
  NpyPart part{read_npy_samples(samples), read_npy_labels(labels)};
  if (part.samples.shape[0] != static_cast<Size>(part.labels.size()))
    throw usage_error(fmt::format("{} holds {} samples, but {} holds {} labels", quoted(samples),
                                  part.samples.shape[0], quoted(labels), part.labels.size()),
                      "use samples and labels of the same data set");
  return part;
}

/// Of an array without its first dimension.
Shape without_count(const Shape& array) { return Shape(array.dimensions().subspan(1)); }

Shape sample_shape(const NpyPart& part) { return without_count(part.samples.shape); }

Shape sample_shape_in(const fs::path& directory) {
  return without_count(read_npy_shape(require_file(directory, kNpyTrain.samples, "NPY")));
}

const char* type_name(const NpyPart& part) {
  return std::holds_alternative<Floats>(part.samples.values) ? "float32" : "uint8";
}

Dataset to_dataset(NpyPart part) {
  return {sample_shape(part), std::get<Floats>(std::move(part.samples.values)),
          std::move(part.labels)};
}

PixelPart to_pixels(NpyPart part) {
  return {std::get<Pixels>(std::move(part.samples.values)), std::move(part.labels)};
}

bool recognises_npy(const fs::path& directory) {
  return holds_any(directory, std::array{kNpyTrain.samples, kNpyTrain.labels, kNpyTest.samples,
                                         kNpyTest.labels});
}

DataSource load_npy(const fs::path& directory) {
  NpyPart train = read_npy_part(directory, kNpyTrain);
  NpyPart test = read_npy_part(directory, kNpyTest);
  const Shape shape = sample_shape(train);
  if (sample_shape(test) != shape) throw different_shapes(directory, shape, sample_shape(test));
  if (train.samples.values.index() != test.samples.values.index())
    throw usage_error(fmt::format("{} trains on {} and tests on {}", quoted(directory),
                                  type_name(train), type_name(test)),
                      "save both from Python with the same type: x.astype('float32')");
  if (std::holds_alternative<Pixels>(train.samples.values))
    return source_of_pixels(shape, to_pixels(std::move(train)), to_pixels(std::move(test)),
                            quoted(directory / kNpyTrain.samples));
  return {.train = to_dataset(std::move(train)), .test = to_dataset(std::move(test))};
}

}  // namespace

DirectoryFormat npy_format() {
  return {.name = "NPY",
          .files = "train_x.npy, train_y.npy, test_x.npy, test_y.npy (plain or .gz)",
          .recognises = recognises_npy,
          .sample_shape = sample_shape_in,
          .load = load_npy};
}

}  // namespace ptbench
