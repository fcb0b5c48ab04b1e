#include "src/data/byte_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kBufferBytes = 256U << 10U;
constexpr std::size_t kLargestRead = std::size_t{1} << 30U;  // zlib counts in int
constexpr Bytes kBestRatio = 1032;

constexpr const char* kMendAccess = "check the path and its permissions";

gzFile stream(void* file) { return static_cast<gzFile>(file); }

Error cannot_read(const fs::path& path, int error_number) {
  return usage_error(fmt::format("cannot read {}: {}", quoted(path),
                                 std::generic_category().message(error_number)),
                     kMendAccess);
}

}  // namespace

void ByteFile::Close::operator()(void* file) const {
  (void)gzclose_r(stream(file));  // what could go wrong while reading was told while reading
}

ByteFile::ByteFile(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) throw cannot_read(path_, error.value());
  if (!fs::is_regular_file(status))
    throw usage_error(fmt::format("{} is {}, not a file", quoted(path_),
                                  fs::is_directory(status) ? "a directory" : "a special file"),
                      "put the data file itself there");
  size_on_disk_ = fs::file_size(path_, error);
  if (error) throw cannot_read(path_, error.value());
  errno = 0;
  file_.reset(gzopen(path_.c_str(), "rb"));
  if (!file_) throw cannot_read(path_, errno != 0 ? errno : ENOMEM);
  (void)gzbuffer(stream(file_.get()), kBufferBytes);
  compressed_ = gzdirect(stream(file_.get())) == 0;  // reads the first bytes
  check_stream();
}

std::string ByteFile::name() const { return quoted(path_); }

std::size_t ByteFile::read(std::span<std::uint8_t> target) {
  std::size_t done = 0;
  while (done < target.size()) {
    const std::size_t wanted = std::min(target.size() - done, kLargestRead);
    const int got = gzread(stream(file_.get()), &target[done], static_cast<unsigned>(wanted));
    if (got > 0) done += static_cast<std::size_t>(got);
    if (std::cmp_equal(got, wanted)) continue;
    check_stream();  // zlib may hand out bytes and report an error in one call
    break;
  }
  return done;
}

bool ByteFile::at_end() {
  std::uint8_t extra = 0;
  return read({&extra, 1}) == 0;
}

Bytes ByteFile::most_bytes() const {
  return compressed_ ? size_on_disk_ * kBestRatio : size_on_disk_;
}

/// Turns zlib's last error, if there is one, into ours.
void ByteFile::check_stream() {
  const int error_number = errno;
  int status = Z_OK;
  (void)gzerror(stream(file_.get()), &status);
  if (status == Z_OK || status == Z_STREAM_END) return;
  if (status == Z_ERRNO) throw cannot_read(path_, error_number);
  if (status == Z_BUF_ERROR)
    throw usage_error(fmt::format("{} is truncated: its gzip data end early", name()), kMendFile);
  if (status == Z_MEM_ERROR) throw cannot_read(path_, ENOMEM);
  throw usage_error(fmt::format("{} is damaged: its gzip data or their checksum are wrong", name()),
                    kMendFile);
}

bool file_exists(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) throw cannot_read(path, error.value());
  return fs::exists(status);
}

std::string quoted(const fs::path& path) { return fmt::format("'{}'", printable(path.string())); }

}  // namespace ptbench
