#include "src/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/data/byte_file.h"
#include "src/data/memory_check.h"
#include "src/data/normalize.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedBytes = 0x08;  // the type code of the third header byte

constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kImageRank = 3;
constexpr std::size_t kLabelRank = 1;

struct FileNames {
  const char* images;
  const char* labels;
};
constexpr FileNames kTrain{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
constexpr FileNames kTest{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// The contents of one file: dimensions, outermost first, and as many bytes as their product.
struct IdxArray {
  Shape shape;
  std::vector<std::uint8_t> bytes;
};

/// Images with labels, as they lie in the files.
struct IdxPart {
  IdxArray images;
  IdxArray labels;
};

/// The file `name` of `directory`, plain first, then packed.
std::optional<fs::path> find_file(const fs::path& directory, const std::string& name) {
  for (const std::string& candidate : {name, name + ".gz"})
    if (file_exists(directory / candidate)) return directory / candidate;
  return std::nullopt;
}

fs::path require_file(const fs::path& directory, const std::string& name) {
  if (auto path = find_file(directory, name)) return std::move(*path);
  throw usage_error(fmt::format("{} has no {} and no {}.gz", quoted(directory), name, name),
                    "put the missing file there, beside the directory's other IDX files");
}

/// Product of the dimensions; empty beyond 64 bits, which three 32-bit dimensions can reach.
std::optional<Bytes> promised_bytes(const Shape& shape) {
  Bytes product = 1;
  for (const Size dimension : shape.dimensions())
    if (__builtin_mul_overflow(product, static_cast<Bytes>(dimension), &product))
      return std::nullopt;
  return product;
}

void read_whole(ByteFile& file, std::span<std::uint8_t> target) {
  if (file.read(target) < target.size())
    throw usage_error(fmt::format("{} is shorter than an IDX header", file.name()), kMendFile);
}

/// Throws unless the file holds bytes in `rank` dimensions.
void read_magic(ByteFile& file, std::size_t rank) {
  std::array<std::uint8_t, kNumberBytes> magic{};
  read_whole(file, magic);
  if (magic[0] != 0 || magic[1] != 0)
    throw usage_error(fmt::format("{} is not an IDX file: it begins with {:02x} {:02x}, not 00 00",
                                  file.name(), magic[0], magic[1]),
                      kMendFile);
  if (magic[2] != kUnsignedBytes || magic[3] != rank)
    throw usage_error(fmt::format("{} holds values of type 0x{:02x} in {} dimensions, not bytes "
                                  "(0x08) in {}",
                                  file.name(), magic[2], magic[3], rank),
                      "check that images and labels are not exchanged");
}

/// Throws if there are no samples, or samples of no size.
Shape read_dimensions(ByteFile& file, std::size_t rank) {
  std::array<std::uint8_t, kNumberBytes * kImageRank> bytes{};
  read_whole(file, std::span(bytes).first(kNumberBytes * rank));
  std::array<Size, kImageRank> dimensions{};
  for (std::size_t i = 0; i < kNumberBytes * rank; ++i)
    dimensions.at(i / kNumberBytes) = dimensions.at(i / kNumberBytes) * 256 + bytes.at(i);
  const Shape shape(std::span<const Size>(dimensions).first(rank));
  if (std::ranges::count(shape.dimensions(), 0) > 0)
    throw usage_error(
        fmt::format("{} holds no samples: its dimensions are {}", file.name(), shape.text()),
        "give a directory with data in it");
  return shape;
}

Error truncated(const ByteFile& file, const Shape& shape, const std::string& instead) {
  return usage_error(fmt::format("{} is truncated: its header promises {} bytes, {}", file.name(),
                                 shape.text(), instead),
                     kMendFile);
}

Error truncated(const ByteFile& file, const Shape& shape, Bytes bytes) {
  return truncated(file, shape, fmt::format("but only {} follow it", bytes));
}

/// Throws if the file cannot hold what its header promises, or the memory cannot.
void check_promise(const ByteFile& file, const Shape& shape, Bytes header_bytes) {
  const std::optional<Bytes> promised = promised_bytes(shape);
  const Bytes possible = file.most_bytes() - header_bytes;
  if (!promised || *promised > possible)
    throw file.compressed() ? truncated(file, shape, "more than its gzip data can hold")
                            : truncated(file, shape, possible);
  // The bytes, and the float that each of them becomes.
  check_memory(file.name(), 1, static_cast<double>(*promised) * (1 + sizeof(float)),
               "use a smaller data set, or a machine with more memory");
}

IdxArray read_array(const fs::path& path, std::size_t rank) {
  ByteFile file(path);
  read_magic(file, rank);
  const Shape shape = read_dimensions(file, rank);
  check_promise(file, shape, kNumberBytes * (1 + rank));
  const auto promised = static_cast<Bytes>(shape.elements());
  IdxArray array{shape, file.read_bytes(promised)};
  if (array.bytes.size() < promised) throw truncated(file, shape, array.bytes.size());
  if (!file.at_end())
    throw usage_error(
        fmt::format("{} is longer than its header promises ({} bytes)", file.name(), shape.text()),
        kMendFile);
  return array;
}

IdxPart read_part(const fs::path& directory, const FileNames& names) {
  const fs::path images = require_file(directory, names.images);
  const fs::path labels = require_file(directory, names.labels);
  IdxPart part{read_array(images, kImageRank), read_array(labels, kLabelRank)};
  if (part.images.shape[0] != part.labels.shape[0])
    throw usage_error(fmt::format("{} holds {} images, but {} holds {} labels", quoted(images),
                                  part.images.shape[0], quoted(labels), part.labels.shape[0]),
                      "use images and labels of the same data set");
  return part;
}

Shape sample_shape(const IdxPart& part) { return {1, part.images.shape[1], part.images.shape[2]}; }

Dataset to_dataset(const IdxPart& part, const ChannelStatistics& statistics) {
  const Shape shape = sample_shape(part);
  return {shape, normalize(part.images.bytes, 1, shape.elements(), statistics),
          std::vector<std::int32_t>(part.labels.bytes.begin(), part.labels.bytes.end())};
}

bool recognises(const fs::path& directory) {
  return std::ranges::any_of(
      std::array{kTrain.images, kTrain.labels, kTest.images, kTest.labels},
      [&](const char* name) { return find_file(directory, name).has_value(); });
}

DataSource load(const fs::path& directory) {
  const IdxPart train = read_part(directory, kTrain);
  const IdxPart test = read_part(directory, kTest);
  const Shape shape = sample_shape(train);
  if (sample_shape(test) != shape)
    throw usage_error(fmt::format("{} trains on images of {} and tests on images of {}",
                                  quoted(directory), shape.text(), sample_shape(test).text()),
                      "use training and test files of the same data set");
  ChannelStatistics statistics = channel_statistics(train.images.bytes, 1, shape.elements());
  // Dividing by 1 instead would make every input 0, and arithmetic on zeros is faster than on data.
  if (statistics.standard_deviation.front() <= 0)
    throw usage_error(
        fmt::format("every pixel of {} has the same value", quoted(directory / kTrain.images)),
        "use real images, or --data synthetic");
  return {.source = {},
          .train = to_dataset(train, statistics),
          .test = to_dataset(test, statistics),
          .mean = std::move(statistics.mean),
          .standard_deviation = std::move(statistics.standard_deviation)};
}

}  // namespace

DirectoryFormat idx_format() {
  return {.name = "IDX",
          .files =
              "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
              "t10k-labels-idx1-ubyte (plain or .gz)",
          .recognises = recognises,
          .load = load};
}

}  // namespace ptbench
