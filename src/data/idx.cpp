#include "src/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "src/base/error.h"
#include "src/base/python_line.h"
#include "src/data/byte_file.h"
#include "src/data/directory_files.h"
#include "src/data/pixel_source.h"
#include "src/data/promised_array.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedBytes = 0x08;  // the type code of the third header byte

/// What numpy calls the other types.
constexpr const char* kOtherTypes =
    "{8: 'u1', 9: 'i1', 11: '>i2', 12: '>i4', 13: '>f4', 14: '>f8'}";

constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kImageRank = 3;
constexpr std::size_t kLabelRank = 1;

struct IdxFileNames {
  const char* images;
  const char* labels;
};
constexpr IdxFileNames kIdxTrain{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
constexpr IdxFileNames kIdxTest{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// Images with labels, as they lie in the files.
struct IdxPart {
  IdxArray images;
  IdxArray labels;
};

void read_whole(ByteFile& file, std::span<std::uint8_t> target) {
  if (file.read(target) < target.size())
    throw usage_error(fmt::format("{} is shorter than an IDX header", file.name()), kMendFile);
}

/// The command that replaces the file by one of bytes in `rank` dimensions. Images of fractions
/// from 0 to 1 become bytes from 0 to 255.
std::string conversion(const ByteFile& file, std::size_t rank) {
  const char* const values =
      rank == kLabelRank
          ? "a.reshape(-1)"
          : "np.rint(a.reshape(len(a), *(s[1:3] if s[3:] in ((), (1,)) else s[-2:])) * (255 if "
            "a.dtype.kind == 'f' and a.max() <= 1 else 1))";
  return fmt::format(
      "convert it (the old file stays, its name ends in .old): {}",
      python_line(fmt::format("b = {}(f).read(); n = b[3]; "
                              "s = tuple(np.frombuffer(b, '>u4', n, 4).tolist()); "
                              "a = np.frombuffer(b, {}[b[2]], -1, 4 + 4 * n).reshape(s); a = {}; "
                              "os.rename(f, f + '.old'); o = open(f.removesuffix('.gz'), 'wb'); "
                              "o.write(bytes([0, 0, 8, a.ndim]) + np.array(a.shape, '>u4')"
                              ".tobytes() + a.astype('u1').tobytes())",
                              file.compressed() ? "gzip.open" : "(lambda f: open(f, 'rb'))",
                              kOtherTypes, values),
                  {file.path()}));
}

/// Whether what the header says can be converted.
bool can_be_converted(std::uint8_t type, std::uint8_t dimensions, std::size_t rank) {
  constexpr std::array<std::uint8_t, 6> kTypes{kUnsignedBytes, 0x09, 0x0B, 0x0C, 0x0D, 0x0E};
  if (std::ranges::find(kTypes, type) == kTypes.end()) return false;
  return dimensions == rank || dimensions == rank + 1;  // one channel, a column of labels
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
                      can_be_converted(magic[2], magic[3], rank)
                          ? conversion(file, rank)
                          : "check that images and labels are not swapped");
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

IdxPart read_idx_part(const fs::path& directory, const IdxFileNames& names) {
  const fs::path images = require_file(directory, names.images, "IDX");
  const fs::path labels = require_file(directory, names.labels, "IDX");
  IdxPart part{read_idx(images, kImageRank), read_idx(labels, kLabelRank)};
  if (part.images.shape[0] != part.labels.shape[0])
    throw usage_error(fmt::format("{} holds {} images, but {} holds {} labels", quoted(images),
                                  part.images.shape[0], quoted(labels), part.labels.shape[0]),
                      "use images and labels of the same data set");
  return part;
}

/// Images of one channel.
Shape shape_of_one(const Shape& images) { return {1, images[1], images[2]}; }

Shape sample_shape(const IdxPart& part) { return shape_of_one(part.images.shape); }

Shape sample_shape_in(const fs::path& directory) {
  ByteFile file(require_file(directory, kIdxTrain.images, "IDX"));
  read_magic(file, kImageRank);
  return shape_of_one(read_dimensions(file, kImageRank));
}

PixelPart to_pixels(IdxPart part) {
  return {std::move(part.images.bytes), {part.labels.bytes.begin(), part.labels.bytes.end()}};
}

bool recognises_idx(const fs::path& directory) {
  return holds_any(
      directory, std::array{kIdxTrain.images, kIdxTrain.labels, kIdxTest.images, kIdxTest.labels});
}

DataSource load_idx(const fs::path& directory) {
  IdxPart train = read_idx_part(directory, kIdxTrain);
  IdxPart test = read_idx_part(directory, kIdxTest);
  const Shape shape = sample_shape(train);
  if (sample_shape(test) != shape) throw different_shapes(directory, shape, sample_shape(test));
  return source_of_pixels(shape, to_pixels(std::move(train)), to_pixels(std::move(test)),
                          quoted(directory / kIdxTrain.images));
}

}  // namespace

IdxArray read_idx(const fs::path& path, std::size_t rank) {
  ByteFile file(path);
  read_magic(file, rank);
  const Shape shape = read_dimensions(file, rank);
  return {shape, read_promised<std::uint8_t>(file, shape, kNumberBytes * (1 + rank))};
}

DirectoryFormat idx_format() {
  return {.name = "IDX",
          .files =
              "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
              "t10k-labels-idx1-ubyte (plain or .gz)",
          .recognises = recognises_idx,
          .sample_shape = sample_shape_in,
          .load = load_idx};
}

}  // namespace ptbench
