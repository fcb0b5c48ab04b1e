#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// The remedy for a file whose contents are wrong.
inline constexpr const char* kMendFile = "copy or download the file again";

/// A data file that is read once from front to back. What begins as gzip is unpacked on the way,
/// whatever its name. Every error is a usage error that names the file.
class ByteFile {
 public:
  /// Throws unless `path` is a regular file that this process may read.
  explicit ByteFile(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path in quotes, for messages.
  [[nodiscard]] std::string name() const;

  /// Fills `target` as far as the file reaches and returns how many bytes that was. Throws where
  /// reading fails, and where gzip data are damaged or end early.
  [[nodiscard]] std::size_t read(std::span<std::uint8_t> target);

  /// Reads `count` values as they lie in memory, or what whole values there are. Memory follows
  /// what really arrives, so that a lie about `count` costs none.
  template <class T>
  [[nodiscard]] std::vector<T> read_values(Bytes count);

  /// Whether nothing is left. For gzip, this is when the checksum is compared.
  [[nodiscard]] bool at_end();

  /// No content is longer than this: the size of a plain file, 1032 times the size of a gzip file
  /// (the best that deflate can do, says zlib's documentation).
  [[nodiscard]] Bytes most_bytes() const;
  [[nodiscard]] bool compressed() const { return compressed_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };
  void check_stream();

  std::filesystem::path path_;
  std::unique_ptr<void, Close> file_;  ///< zlib's gzFile
  Bytes size_on_disk_ = 0;
  bool compressed_ = false;
};

template <class T>
std::vector<T> ByteFile::read_values(Bytes count) {
  constexpr Bytes kFirstChunk = (Bytes{1} << 20U) / sizeof(T);
  std::vector<T> values;
  while (values.size() < count) {
    const std::size_t have = values.size();
    values.resize(std::min(count, std::max<Bytes>(kFirstChunk, 2 * have)));
    const std::size_t wanted = (values.size() - have) * sizeof(T);
    const std::size_t got = read({reinterpret_cast<std::uint8_t*>(values.data() + have), wanted});
    if (got == wanted) continue;
    values.resize(have + got / sizeof(T));
    break;
  }
  return values;
}

/// Whether something lies at `path`. Throws where that cannot be told (a folder that may not be
/// searched, links in a circle).
[[nodiscard]] bool file_exists(const std::filesystem::path& path);

/// 'path', with control characters made visible.
[[nodiscard]] std::string quoted(const std::filesystem::path& path);

}  // namespace ptbench
