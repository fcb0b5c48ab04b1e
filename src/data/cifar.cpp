#include "src/data/cifar.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/shape.h"
#include "src/data/byte_file.h"
#include "src/data/directory_files.h"
#include "src/data/memory_check.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> kCifarTrain{"data_batch_1.bin", "data_batch_2.bin",
                                                 "data_batch_3.bin", "data_batch_4.bin",
                                                 "data_batch_5.bin"};
constexpr const char* kCifarTest = "test_batch.bin";

constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kPixels;
constexpr int kClasses = 10;
constexpr std::size_t kChunkRecords = 256;  // read at once

constexpr const char* kRightVersion =
    "use CIFAR-10's binary version, cifar-10-binary.tar.gz (CIFAR-100 and the Python version have "
    "other records)";

constexpr const char* kLessData = "use a smaller data set, or a machine with more memory";

/// A file may be sparse, or zeros that gzip packed well, and so larger than any memory. Growing
/// copies from old memory to new, twice as large.
void check_growth(const ByteFile& file, const PixelPart& part, std::size_t more) {
  const std::size_t needed = part.pixels.size() + more;
  if (needed <= part.pixels.capacity()) return;
  check_memory(file.name(), 1, 2 * static_cast<double>(needed), kLessData);
}

/// Room for all that the files hold, so that reading them copies nothing.
void reserve(std::span<const fs::path> paths, PixelPart& part) {
  Bytes bytes = 0;
  for (const fs::path& path : paths) {
    const ByteFile file(path);
    if (!file.compressed()) bytes += file.most_bytes();
  }
  check_memory("the training set", 1, static_cast<double>(bytes), kLessData);
  part.pixels.reserve(bytes);
}

void add_records(const ByteFile& file, std::span<const std::uint8_t> bytes, std::size_t first,
                 PixelPart& part) {
  const std::size_t records = bytes.size() / kRecordBytes;
  check_growth(file, part, records * kPixels);
  for (std::size_t record = 0; record < records; ++record) {
    const auto all = bytes.subspan(record * kRecordBytes, kRecordBytes);
    if (all[0] >= kClasses)
      throw usage_error(fmt::format("record {} of {} has label {}, and CIFAR-10's are 0 to {}",
                                    first + record, file.name(), all[0], kClasses - 1),
                        kRightVersion);
    part.labels.push_back(all[0]);
    part.pixels.insert(part.pixels.end(), all.begin() + 1, all.end());
  }
}

bool recognises_cifar(const fs::path& directory) {
  return holds_any(directory, kCifarTrain) || find_file(directory, kCifarTest).has_value();
}

Shape sample_shape(const fs::path& /*directory*/) { return {3, 32, 32}; }

DataSource load_cifar(const fs::path& directory) {
  std::vector<fs::path> train_files;
  for (const char* name : kCifarTrain)
    train_files.push_back(require_file(directory, name, "CIFAR-10"));
  const fs::path test_file = require_file(directory, kCifarTest, "CIFAR-10");
  PixelPart train;
  reserve(train_files, train);
  for (const fs::path& path : train_files) read_cifar(path, train);
  PixelPart test;
  read_cifar(test_file, test);
  return source_of_pixels(sample_shape(directory), std::move(train), std::move(test),
                          fmt::format("{} to {}", quoted(train_files.front()), kCifarTrain.back()));
}

}  // namespace

void read_cifar(const fs::path& path, PixelPart& part) {
  ByteFile file(path);
  std::vector<std::uint8_t> chunk(kChunkRecords * kRecordBytes);
  std::size_t records = 0;
  for (std::size_t got = chunk.size(); got == chunk.size();) {
    got = file.read(chunk);
    add_records(file, std::span(chunk).first(got), records, part);
    records += got / kRecordBytes;
    if (got % kRecordBytes != 0)
      throw usage_error(fmt::format("{} ends within record {}, after {} of its {} bytes",
                                    file.name(), records, got % kRecordBytes, kRecordBytes),
                        kRightVersion);
  }
  if (records == 0) throw usage_error(fmt::format("{} is empty", file.name()), kRightVersion);
}

DirectoryFormat cifar_format() {
  return {.name = "CIFAR-10",
          .files = "data_batch_1.bin to data_batch_5.bin, test_batch.bin (plain or .gz)",
          .recognises = recognises_cifar,
          .sample_shape = sample_shape,
          .load = load_cifar};
}

}  // namespace ptbench
