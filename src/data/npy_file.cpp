#include "src/data/npy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "src/base/error.h"
#include "src/base/python_line.h"
#include "src/data/byte_file.h"
#include "src/data/promised_array.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "values are read as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr Bytes kMaximumHeader = Bytes{64} << 10U;  // numpy itself reads no more than 10000 bytes

constexpr const char* kFloat32 = "<f4";
constexpr const char* kUint8 = "|u1";
constexpr const char* kInt32 = "<i4";
constexpr const char* kInt64 = "<i8";

/// What a file is read for.
struct Purpose {
  const char* types;   ///< that are read
  const char* wanted;  ///< of them, the one that everything else becomes
};
constexpr Purpose kSamples{"float32 or uint8", "float32"};
constexpr Purpose kLabels{"int64, int32 or uint8", "int64"};

constexpr const char* kSaveAgain =
    "save it again from Python, with numpy.save, or copy or download the file again";

/// The command that replaces the file by what `expression` makes of its array, a.
std::string conversion(const ByteFile& file, std::string_view expression) {
  return fmt::format(
      "convert it (the old file stays, its name ends in .old): {}",
      python_line(fmt::format("a = np.load({}, allow_pickle=True); os.rename(f, f + '.old'); "
                              "np.save(f.removesuffix('.gz'), {})",
                              file.compressed() ? "gzip.open(f)" : "f", expression),
                  {file.path()}));
}

/// The same values of the type that is wanted, row by row.
std::string as_wanted(const Purpose& purpose, std::string_view array = "a") {
  return fmt::format("np.ascontiguousarray({}, '{}')", array, purpose.wanted);
}

Error wrong(const ByteFile& file, const std::string& what, const std::string& remedy) {
  return usage_error(fmt::format("{} {}", file.name(), what), remedy);
}

Error too_short(const ByteFile& file) {
  return usage_error(fmt::format("{} is shorter than an NPY header", file.name()), kMendFile);
}

/// A header and where it ends.
struct FileHeader {
  NpyHeader header;
  Bytes bytes = 0;  ///< from the file's beginning
};

/// The number of bytes that the file gives its header; leaves the file in front of them.
Bytes read_header_length(ByteFile& file, int major) {
  const std::size_t digits = major == 1 ? 2 : 4;
  std::array<std::uint8_t, 4> length{};
  if (file.read(std::span(length).first(digits)) < digits) throw too_short(file);
  return std::bit_cast<std::uint32_t>(length);
}

FileHeader read_header(ByteFile& file, const Purpose& purpose) {
  std::array<std::uint8_t, kMagic.size() + kVersionBytes> start{};
  const std::size_t got = file.read(start);
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
    throw wrong(file, "is not an NPY file: it does not begin with \\x93NUMPY", kSaveAgain);
  if (got < start.size()) throw too_short(file);
  const int major = start[kMagic.size()];
  const int minor = start[kMagic.size() + 1];
  if (major < 1 || major > 3 || minor != 0)
    throw wrong(file,
                fmt::format("is of version {}.{} of the NPY format, and 1.0, 2.0 and 3.0 are read",
                            major, minor),
                kSaveAgain);
  const Bytes length = read_header_length(file, major);
  if (length > kMaximumHeader)
    throw wrong(
        file,
        fmt::format("has a header of {} bytes, and at most {} are read", length, kMaximumHeader),
        kSaveAgain);
  const auto text = file.read_values<char>(length);
  if (text.size() < length)
    throw usage_error(
        fmt::format("{} is truncated: it promises a header of {} bytes, and {} follow", file.name(),
                    length, text.size()),
        kMendFile);
  const NpyRemedies remedies{
      .damaged = kSaveAgain,
      .records = "this takes the first of its fields; " +
                 conversion(file, as_wanted(purpose, "a[a.dtype.names[0]]"))};
  return {parse_npy_header({text.data(), text.size()}, file.name(), remedies),
          start.size() + (major == 1 ? 2 : 4) + length};
}

/// `array` is what to take of the file's.
Error wrong_type(const ByteFile& file, const Purpose& purpose, const std::string& type,
                 std::string_view array) {
  const bool is_of_objects = type.find('O') != std::string::npos;
  std::string_view what = "values";
  if (type.starts_with('>')) what = "big-endian values";
  if (is_of_objects) what = "Python objects";
  return wrong(
      file, fmt::format("holds {} of type '{}', and {} are read", what, type, purpose.types),
      conversion(file, is_of_objects ? fmt::format("np.array(a.tolist(), '{}')", purpose.wanted)
                                     : as_wanted(purpose, array)));
}

void check_layout(const ByteFile& file, const NpyHeader& header, std::string_view array) {
  if (header.fortran_order)
    throw wrong(file, "holds its values in Fortran order, column by column",
                conversion(file, fmt::format("np.ascontiguousarray({})", array)));
  if (std::ranges::count(header.shape.dimensions(), 0) > 0)
    throw usage_error(
        fmt::format("{} holds no samples: its shape is {}", file.name(), header.shape.text()),
        "give a directory with data in it");
}

void check_finite(const ByteFile& file, const Shape& shape, std::span<const float> values) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const Size sample = (bad - values.begin()) / (static_cast<Size>(values.size()) / shape[0]);
  throw usage_error(fmt::format("sample {} of {} holds {}", sample, file.name(),
                                std::isnan(*bad) ? "NaN" : "an infinite value"),
                    "leave the sample out, or put finite values in their place: " +
                        conversion(file, "np.nan_to_num(a)"));
}

template <class T>
std::vector<std::int32_t> to_labels(const ByteFile& file, const std::vector<T>& values) {
  const auto in_range = [](T label) { return label >= 0 && std::in_range<std::int32_t>(label); };
  const auto bad = std::ranges::find_if_not(values, in_range);
  if (bad != values.end())
    throw usage_error(fmt::format("label {} of {} is {}, and labels are whole numbers from 0 up",
                                  bad - values.begin(), file.name(), *bad),
                      "number the classes from 0 on, and leave out samples without a class");
  std::vector<std::int32_t> labels(values.size());
  std::ranges::transform(values, labels.begin(),
                         [](T label) { return static_cast<std::int32_t>(label); });
  return labels;
}

/// The header of samples that can be read.
FileHeader read_header_of_samples(ByteFile& file) {
  FileHeader found = read_header(file, kSamples);
  const std::string& type = found.header.type;
  const Shape& shape = found.header.shape;
  if (type != kFloat32 && type != kUint8) throw wrong_type(file, kSamples, type, "a");
  check_layout(file, found.header, "a");
  if (shape.rank() != 2 && shape.rank() != 4)
    throw usage_error(
        fmt::format("{} has the shape {}, and N x features or N x channels x rows x columns are "
                    "read",
                    file.name(), shape.rank() == 0 ? "of one number" : shape.text()),
        shape.rank() == 0
            ? std::string("save an array of samples from Python")
            : conversion(file, shape.rank() == 3 ? "a[:, None]" : "a.reshape(len(a), -1)"));
  return found;
}

}  // namespace

Shape read_npy_shape(const fs::path& path) {
  ByteFile file(path);
  return read_header_of_samples(file).header.shape;
}

NpySamples read_npy_samples(const fs::path& path) {
  ByteFile file(path);
  const auto [header, bytes] = read_header_of_samples(file);
  const Shape& shape = header.shape;
  if (header.type == kUint8) return {shape, read_promised<std::uint8_t>(file, shape, bytes)};
  std::vector<float> values = read_promised<float>(file, shape, bytes);
  check_finite(file, shape, values);
  return {shape, std::move(values)};
}

std::vector<std::int32_t> read_npy_labels(const fs::path& path) {
  ByteFile file(path);
  const auto [header, bytes] = read_header(file, kLabels);
  const std::string& type = header.type;
  const Shape& shape = header.shape;
  const bool is_one_hot = shape.rank() == 2 && shape[1] > 1;
  const char* const labels = is_one_hot ? "a.argmax(1)" : "a.reshape(-1)";
  if (type != kInt64 && type != kInt32 && type != kUint8)
    throw wrong_type(file, kLabels, type, labels);
  check_layout(file, header, labels);
  if (shape.rank() != 1)
    throw usage_error(fmt::format("{} has {} dimensions, and labels are a list of one number a "
                                  "sample{}",
                                  file.name(), shape.rank(),
                                  is_one_hot ? " (these look like one-hot labels)" : ""),
                      conversion(file, as_wanted(kLabels, labels)));
  if (type == kInt64) return to_labels(file, read_promised<std::int64_t>(file, shape, bytes));
  if (type == kInt32) return to_labels(file, read_promised<std::int32_t>(file, shape, bytes));
  return to_labels(file, read_promised<std::uint8_t>(file, shape, bytes));
}

}  // namespace ptbench
