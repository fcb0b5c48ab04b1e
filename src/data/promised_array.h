#pragma once

#include <string>
#include <vector>

#include "src/base/shape.h"
#include "src/base/size.h"
#include "src/data/byte_file.h"

namespace ptbench {

/// Throws a usage error if the file cannot hold `shape` values of `value_bytes` behind a header of
/// `header_bytes`, or the memory cannot.
void check_promise(const ByteFile& file, const Shape& shape, Bytes value_bytes, Bytes header_bytes);

/// Throws a usage error unless `values` is all that the shape promised and the file ends behind it.
void check_kept(ByteFile& file, const Shape& shape, Bytes value_bytes, Bytes values);

/// The values that the header of a file promised (`shape` of them, in the byte order of this
/// machine), which are all that follows it. Throws a usage error that names the file where they are
/// not.
template <class T>
[[nodiscard]] std::vector<T> read_promised(ByteFile& file, const Shape& shape, Bytes header_bytes) {
  check_promise(file, shape, sizeof(T), header_bytes);
  std::vector<T> values = file.read_values<T>(static_cast<Bytes>(shape.elements()));
  check_kept(file, shape, sizeof(T), values.size());
  return values;
}

}  // namespace ptbench
