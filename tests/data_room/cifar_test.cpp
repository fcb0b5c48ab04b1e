#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "src/data/source.h"
#include "tests/data_room/data_files.h"
#include "tests/data_room/samples.h"

using namespace ptbench;
using namespace ptbench::test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPixels = 3072;

std::string batch_name(int number) { return "data_batch_" + std::to_string(number) + ".bin"; }

/// Two records a file, labels counting from 0; the test file has one of label 9.
void write_cifar_set(const fs::path& directory) {
  for (int file = 1; file <= 5; ++file) {
    const int label = 2 * (file - 1);
    write_file(directory / batch_name(file),
               cifar_record(label, static_cast<unsigned>(label)) +
                   cifar_record(label + 1, static_cast<unsigned>(label) + 1));
  }
  write_file(directory / "test_batch.bin", cifar_record(9, 77));
}

/// The error of a small data set in which `contents` stand in place of the file `name`.
std::string message_with_cifar(const std::string& name, const std::string& contents) {
  std::string message = message_with(write_cifar_set, name, contents);
  CHECK_THAT(message, Catch::Contains(name));
  return message;
}

}  // namespace

TEST_CASE("CIFAR-10 loads in the files' order, normalised by channel", "[data][long]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  const DataSource data = load_directory(directory.text());
  CHECK(data.source == directory.text());
  CHECK(data.train.sample_shape() == Shape{3, 32, 32});
  CHECK(sample_shape_of(directory.text()) == Shape{3, 32, 32});
  CHECK(data.test.size() == 1);
  const Samples train = all_samples(data.train);
  CHECK(train.labels == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(all_samples(data.test).labels == std::vector<std::int32_t>{9});
  CHECK_NOTHROW(check_labels(data, 10));

  REQUIRE(data.mean.size() == 3);
  REQUIRE(data.standard_deviation.size() == 3);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < train.values.size(); ++i) {
      if (i % kPixels / 1024 != channel) continue;
      sum += train.values[i];
      squares += static_cast<double>(train.values[i]) * train.values[i];
    }
    CHECK(std::abs(sum / 10240) < 1e-5);
    CHECK(squares / 10240 == Approx(1).epsilon(1e-5));
  }
  for (std::size_t i = 0; i < train.values.size(); ++i) {
    const auto seed = static_cast<unsigned>(i / kPixels);
    const char byte = cifar_record(0, seed)[1 + i % kPixels];
    const std::size_t channel = i % kPixels / 1024;
    REQUIRE(train.values[i] ==
            static_cast<float>((static_cast<unsigned char>(byte) / 255.0 - data.mean[channel]) /
                               data.standard_deviation[channel]));
    if (i % kPixels == 0) i += 61;  // a record is made for every look
  }
}

TEST_CASE("pixels stay bytes in memory", "[data]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  CHECK(load_directory(directory.text()).train.sample_bytes() == 10 * kPixels);
}

TEST_CASE("CIFAR-10 may be packed", "[data]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  const Samples plain = all_samples(load_directory(directory.text()).train);
  for (const int number : {2, 5}) {
    const fs::path path = directory.path() / batch_name(number);
    write_gzip(path.string() + ".gz", read_file(path));
    fs::remove(path);
  }
  CHECK(all_samples(load_directory(directory.text()).train) == plain);
}

TEST_CASE("a missing file of CIFAR-10 is named", "[data]") {
  const std::string name = GENERATE(batch_name(1), batch_name(3), batch_name(5), "test_batch.bin");
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  fs::remove(directory.path() / name);
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("has no " + name) && Catch::Contains("CIFAR-10"));
}

TEST_CASE("files that are not whole records are refused", "[data]") {
  CHECK_THAT(message_with_cifar(batch_name(4), ""), Catch::Contains("is empty"));
  CHECK_THAT(message_with_cifar("test_batch.bin", ""), Catch::Contains("is empty"));
  const std::string good = cifar_record(1, 1) + cifar_record(2, 2);
  CHECK_THAT(message_with_cifar(batch_name(2), good + "x"),
             Catch::Contains("within record 2, after 1 of its 3073 bytes"));
  CHECK_THAT(message_with_cifar(batch_name(2), good.substr(0, good.size() - 1)),
             Catch::Contains("within record 1, after 3072"));
  CHECK_THAT(message_with_cifar(batch_name(2), "x"), Catch::Contains("within record 0"));
}

TEST_CASE("labels above 9 are refused with their record", "[data]") {
  CHECK_THAT(message_with_cifar(batch_name(3), cifar_record(9, 1) + cifar_record(10, 2)),
             Catch::Contains("record 1 of") && Catch::Contains("label 10"));
  // CIFAR-100: two labels a record.
  std::string other;
  for (int record = 0; record < 3073; ++record)
    other += std::string(1, '\1') + cifar_record(record % 100, static_cast<unsigned>(record));
  CHECK_THAT(message_with_cifar("test_batch.bin", other), Catch::Contains("CIFAR-100"));
  // Beyond one chunk of what is read at once.
  std::string many(std::size_t{3073} * 3000, '\1');
  many[std::size_t{3073} * 2900] = '\x2A';
  CHECK_THAT(message_with_cifar(batch_name(1), many),
             Catch::Contains("record 2900 of") && Catch::Contains("label 42"));
}

TEST_CASE("a channel that does not vary is refused", "[data]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  for (int file = 1; file <= 5; ++file) {
    std::string record = cifar_record(1, static_cast<unsigned>(file));
    record.replace(1 + 1024, 1024, 1024, '\x7F');
    write_file(directory.path() / batch_name(file), record);
  }
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("channel 1") && Catch::Contains("same value"));
}

TEST_CASE("IDX comes before CIFAR-10, and CIFAR-10 before NPY", "[data]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  write_file(directory.path() / "train_x.npy", "not looked at");
  CHECK(load_directory(directory.text()).train.size() == 10);
  write_file(directory.path() / "t10k-labels-idx1-ubyte", "");
  CHECK_THAT(usage_message([&] { (void)load_directory(directory.text()); }),
             Catch::Contains("train-images-idx3-ubyte"));
}

TEST_CASE("samples of another shape than the workload's are refused", "[data]") {
  const TemporaryDirectory directory;
  write_cifar_set(directory.path());
  const DataSource data = load_directory(directory.text());
  CHECK_NOTHROW(check_shape(data, {3, 32, 32}, "resnet18"));
  CHECK_THAT(usage_message([&] { check_shape(data, {3, 224, 224}, "resnet50"); }),
             Catch::Contains("3x32x32") && Catch::Contains("3x224x224") &&
                 Catch::Contains("resnet50") && Catch::Contains(directory.text()));
  CHECK_THAT(usage_message([&] { check_shape(data, {3072}, "flat\n"); }),
             Catch::Contains("save the samples") && Catch::Contains("flat\\x0a"));
}
