#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/shape.h"

namespace ptbench {

/// What the header of a .npy file says.
struct NpyHeader {
  std::string type;  ///< "<f4": byte order, kind, bytes
  bool fortran_order = false;
  Shape shape;
};

/// What helps against a file that cannot be read.
struct NpyRemedies {
  std::string damaged;
  std::string records;  ///< of several fields (a structured type)
};

/// Reads the header's text, a Python dictionary. `name` (the file's) and the remedies are for
/// messages: throws a usage error for everything but one with the three keys of the format, each
/// once.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& name,
                                         const NpyRemedies& remedies);

/// Samples as they lie in the file: N × features or N × channels × rows × columns.
struct NpySamples {
  Shape shape;  ///< N included
  std::variant<std::vector<float>, std::vector<std::uint8_t>> values;
};

/// Reads a .npy file, versions 1 to 3 of the format
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), of float32 without NaN
/// and infinity or of uint8. Throws a usage error that names the file, what is wrong with it and
/// how to save it from Python, whatever it holds; what it allocates is bounded by what really
/// follows the header, and by the memory left.
[[nodiscard]] NpySamples read_npy_samples(const std::filesystem::path& path);

/// Their shape alone, from the header; likewise.
[[nodiscard]] Shape read_npy_shape(const std::filesystem::path& path);

/// The same for labels: one dimension of int64, int32 or uint8 from 0 up.
[[nodiscard]] std::vector<std::int32_t> read_npy_labels(const std::filesystem::path& path);

}  // namespace ptbench
