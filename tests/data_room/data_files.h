#pragma once

#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/data/source.h"

namespace ptbench::test {

/// An empty directory of its own, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() /
            ("ptbench_data_" + std::to_string(getpid()) + "_" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// An IDX file's contents: header for `dimensions`, then `body`, which need not fit them.
inline std::string idx_bytes(const std::vector<std::uint32_t>& dimensions, const std::string& body,
                             unsigned char type = 0x08) {
  std::string text{'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions)
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      text += static_cast<char>(dimension >> shift & 0xFFU);
  return text + body;
}

/// A .npy file of version 1.0 (or `major`.0): `header` is the dictionary's text, `body` what
/// follows it, which need not fit.
inline std::string npy_file(const std::string& header, const std::string& body, char major = 1) {
  const std::size_t length = header.size() + 1;
  std::string text = std::string("\x93NUMPY") + major + '\0';
  for (unsigned shift = 0; shift < (major == 1 ? 16U : 32U); shift += 8)
    text += static_cast<char>(length >> shift & 0xFFU);
  return text + header + '\n' + body;
}

/// As numpy writes it: npy_header("<f4", "(3, 4)").
inline std::string npy_header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

/// The bytes of `values` as they lie in memory.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A record of CIFAR-10's binary version. Its pixels are a function of `seed`.
inline std::string cifar_record(int label, unsigned seed) {
  std::string record(1, static_cast<char>(label));
  for (unsigned i = 0; i < 3072; ++i)
    record += static_cast<char>((i * 2654435761U + seed * 40503U) >> 7U);
  return record;
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.good());
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_gzip(const std::filesystem::path& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  REQUIRE(gzclose(file) == Z_OK);
}

/// Message and remedy of the usage error that `action` throws; fails the test if it throws none.
template <class Action>
std::string usage_message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    return std::string(error.what()) + " | " + error.remedy();
  }
  FAIL("no error was thrown");
  return {};
}

/// What is said of a folder whose data set `write_set` wrote, where its file `name` then got
/// `contents` instead: it has to name the folder.
template <class WriteSet>
std::string message_with(WriteSet write_set, const std::string& name, const std::string& contents) {
  const TemporaryDirectory directory;
  write_set(directory.path());
  write_file(directory.path() / name, contents);
  const std::string message = usage_message([&] { (void)load_directory(directory.text()); });
  CHECK_THAT(message, Catch::Contains(directory.text()));
  return message;
}

}  // namespace ptbench::test
