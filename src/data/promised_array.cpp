#include "src/data/promised_array.h"

#include <fmt/format.h>

#include <optional>

#include "src/base/error.h"
#include "src/data/memory_check.h"

namespace ptbench {
namespace {

/// Product of the dimensions and `value_bytes`; empty beyond 63 bits.
std::optional<Bytes> promised_bytes(const Shape& shape, Bytes value_bytes) {
  auto product = static_cast<Size>(value_bytes);
  for (const Size dimension : shape.dimensions())
    if (__builtin_mul_overflow(product, dimension, &product)) return std::nullopt;
  return static_cast<Bytes>(product);
}

std::string promise(const Shape& shape, Bytes value_bytes) {
  return value_bytes == 1 ? fmt::format("{} bytes", shape.text())
                          : fmt::format("{} values of {} bytes", shape.text(), value_bytes);
}

Error truncated(const ByteFile& file, const std::string& promise, const std::string& instead) {
  return usage_error(
      fmt::format("{} is truncated: its header promises {}, {}", file.name(), promise, instead),
      kMendFile);
}

}  // namespace

void check_promise(const ByteFile& file, const Shape& shape, Bytes value_bytes,
                   Bytes header_bytes) {
  const std::optional<Bytes> promised = promised_bytes(shape, value_bytes);
  const Bytes possible = file.most_bytes() - header_bytes;
  if (!promised || *promised > possible)
    throw truncated(file, promise(shape, value_bytes),
                    file.compressed() ? "more than its gzip data can hold"
                                      : fmt::format("but only {} bytes follow it", possible));
  check_memory(file.name(), 1, static_cast<double>(*promised),
               "use a smaller data set, or a machine with more memory");
}

void check_kept(ByteFile& file, const Shape& shape, Bytes value_bytes, Bytes values) {
  if (values < static_cast<Bytes>(shape.elements()))
    throw truncated(file, promise(shape, value_bytes),
                    fmt::format("but only {} of them follow it", values));
  if (!file.at_end())
    throw usage_error(fmt::format("{} is longer than its header promises ({})", file.name(),
                                  promise(shape, value_bytes)),
                      kMendFile);
}

}  // namespace ptbench
