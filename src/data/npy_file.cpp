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
  const char* remedy;  ///< Python that saves such a file
};
constexpr Purpose kSamples{
    "float32 or uint8",
    "save it again from Python: numpy.save(FILE, numpy.ascontiguousarray(x).astype('float32'))"};
constexpr Purpose kLabels{
    "int64, int32 or uint8",
    "save it again from Python: numpy.save(FILE, numpy.ascontiguousarray(y).astype('int64'))"};

Error wrong(const ByteFile& file, const Purpose& purpose, const std::string& what) {
  return usage_error(fmt::format("{} {}", file.name(), what), purpose.remedy);
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
    throw wrong(file, purpose, "is not an NPY file: it does not begin with \\x93NUMPY");
  if (got < start.size()) throw too_short(file);
  const int major = start[kMagic.size()];
  const int minor = start[kMagic.size() + 1];
  if (major < 1 || major > 3 || minor != 0)
    throw wrong(file, purpose,
                fmt::format("is of version {}.{} of the NPY format, and 1.0, 2.0 and 3.0 are read",
                            major, minor));
  const Bytes length = read_header_length(file, major);
  if (length > kMaximumHeader)
    throw wrong(
        file, purpose,
        fmt::format("has a header of {} bytes, and at most {} are read", length, kMaximumHeader));
  const auto text = file.read_values<char>(length);
  if (text.size() < length)
    throw usage_error(
        fmt::format("{} is truncated: it promises a header of {} bytes, and {} follow", file.name(),
                    length, text.size()),
        kMendFile);
  return {parse_npy_header({text.data(), text.size()}, file.name(), purpose.remedy),
          start.size() + (major == 1 ? 2 : 4) + length};
}

Error wrong_type(const ByteFile& file, const Purpose& purpose, const std::string& type) {
  std::string_view what = "values";
  if (type.starts_with('>')) what = "big-endian values";
  if (type.find('O') != std::string::npos) what = "Python objects";
  return wrong(file, purpose,
               fmt::format("holds {} of type '{}', and {} are read", what, type, purpose.types));
}

void check_layout(const ByteFile& file, const Purpose& purpose, const NpyHeader& header) {
  if (header.fortran_order)
    throw wrong(file, purpose, "holds its values in Fortran order, column by column");
  if (std::ranges::count(header.shape.dimensions(), 0) > 0)
    throw usage_error(
        fmt::format("{} holds no samples: its shape is {}", file.name(), header.shape.text()),
        "give a directory with data in it");
}

void check_finite(const ByteFile& file, const Shape& shape, std::span<const float> values) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const Size sample = (bad - values.begin()) / (static_cast<Size>(values.size()) / shape[0]);
  throw usage_error(
      fmt::format("sample {} of {} holds {}", sample, file.name(),
                  std::isnan(*bad) ? "NaN" : "an infinite value"),
      "leave the sample out, or save it again from Python: numpy.save(FILE, numpy.nan_to_num(x))");
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
  if (type != kFloat32 && type != kUint8) throw wrong_type(file, kSamples, type);
  check_layout(file, kSamples, found.header);
  const Shape& shape = found.header.shape;
  if (shape.rank() != 2 && shape.rank() != 4)
    throw usage_error(
        fmt::format("{} has the shape {}, and N x features or N x channels x rows x columns are "
                    "read",
                    file.name(), shape.rank() == 0 ? "of one number" : shape.text()),
        "reshape it in Python: x.reshape(len(x), -1), or x.reshape(len(x), 1, rows, columns)");
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
  if (type != kInt64 && type != kInt32 && type != kUint8) throw wrong_type(file, kLabels, type);
  check_layout(file, kLabels, header);
  const Shape& shape = header.shape;
  if (shape.rank() != 1)
    throw usage_error(fmt::format("{} has {} dimensions, and labels are a list of one number a "
                                  "sample",
                                  file.name(), shape.rank()),
                      "save them again from Python: y.reshape(len(x)), or y.argmax(axis=1) of "
                      "one-hot labels");
  if (type == kInt64) return to_labels(file, read_promised<std::int64_t>(file, shape, bytes));
  if (type == kInt32) return to_labels(file, read_promised<std::int32_t>(file, shape, bytes));
  return to_labels(file, read_promised<std::uint8_t>(file, shape, bytes));
}

}  // namespace ptbench
