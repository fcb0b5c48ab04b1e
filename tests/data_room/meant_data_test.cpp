// Data that people have under other names, or elsewhere.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "src/data/source.h"
#include "tests/data_room/data_files.h"

using namespace ptbench;
using namespace ptbench::test;
namespace fs = std::filesystem;

namespace {

std::string message_of(const std::string& directory) {
  return usage_message([&] { (void)load_directory(directory); });
}

/// One image of 2 × 2, and its label, as training and test set.
void write_idx(const fs::path& directory, const std::vector<std::string>& names) {
  fs::create_directories(directory);
  for (const std::size_t part : {std::size_t{0}, std::size_t{2}}) {
    write_file(directory / names.at(part), idx_bytes({1, 2, 2}, "abcd"));
    write_file(directory / names.at(part + 1), idx_bytes({1}, {'\1'}));
  }
}

const std::vector<std::string> kIdxNames{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// Pastes the command of a message into a shell.
void paste(const std::string& message) {
  const std::size_t begin = message.find("(cd ");
  REQUIRE(begin != std::string::npos);
  const std::size_t end = message.rfind(')');
  CAPTURE(message);
  REQUIRE(std::system(message.substr(begin, end + 1 - begin).c_str()) == 0);
}

}  // namespace

TEST_CASE("data one or two folders below, or beside, are named", "[data]") {
  const TemporaryDirectory directory;
  const fs::path raw = directory.path() / "it's here" / "raw";
  write_idx(raw, kIdxNames);
  fs::create_directories(directory.path() / "another" / "deep" / "deeper");
  const std::string meant = "did you mean --data '" + directory.text() + R"(/it'\''s here/raw'?)";
  CHECK_THAT(message_of(directory.text()), Catch::Contains(meant));
  CHECK_THAT(message_of(directory.text() + "/it's here"), Catch::Contains(meant));
  CHECK_THAT(message_of(raw.string() + "/" + kIdxNames.front()), Catch::Contains(meant));
  CHECK_NOTHROW(load_directory(raw.string()));
}

TEST_CASE("MNIST under its other names gets its own", "[data]") {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"train-images.idx3-ubyte", "train-labels.idx1-ubyte",
                                 "t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"},
        {"emnist-letters-train-images-idx3-ubyte", "emnist-letters-train-labels-idx1-ubyte",
         "emnist-letters-test-images-idx3-ubyte", "emnist-letters-test-labels-idx1-ubyte"}}) {
    const TemporaryDirectory directory;
    write_idx(directory.path(), names);
    const std::string message = message_of(directory.text());
    CHECK_THAT(message, Catch::Contains("the files have other names") &&
                            Catch::Contains("ln -s " + names.front()));
    paste(message);
    CHECK_NOTHROW(load_directory(directory.text()));
  }
}

TEST_CASE("numpy's files under Keras' names get ptbench's", "[data]") {
  const TemporaryDirectory directory;
  const fs::path below = directory.path() / "below";
  fs::create_directories(below);
  const std::string samples = npy_file(npy_header("|u1", "(1, 4)"), "abcd");
  const std::string labels = npy_file(npy_header("|u1", "(1,)"), {'\1'});
  for (const char* part : {"train", "test"}) {
    write_file(below / (std::string("x_") + part + ".npy"), samples);
    write_file(below / (std::string("y_") + part + ".npy"), labels);
  }
  const std::string message = message_of(directory.text());
  CHECK_THAT(message, Catch::Contains("and give --data " + below.string()));
  paste(message);
  CHECK_NOTHROW(load_directory(below.string()));
}

TEST_CASE("an archive of numpy's is unpacked where it has Keras' names", "[data]") {
  const TemporaryDirectory directory;
  write_file(directory.path() / "a.npz", "x_train.npy y_train.npy x_test.npy");
  CHECK_THAT(message_of(directory.text()), !Catch::Contains("python3"));
  write_file(directory.path() / "a.npz", "x_train.npy y_train.npy x_test.npy y_test.npy");
  CHECK_THAT(message_of(directory.text()),
             Catch::Contains("unpack the archive: python3 -c") && Catch::Contains("a.npz"));
}

TEST_CASE("CIFAR's other versions are told, and what is no data gets no advice", "[data]") {
  const TemporaryDirectory directory;
  write_file(directory.path() / "notes.txt", "x");
  CHECK_THAT(message_of(directory.text()),
             Catch::Contains("no data found") && Catch::Contains("holds such files"));
  write_file(directory.path() / "data_batch_1", "x");
  CHECK_THAT(message_of(directory.text()), Catch::Contains("cifar-10-binary.tar.gz"));
}

TEST_CASE("images with their channels last are told from others", "[data]") {
  CHECK_THAT(usage_message([] { refuse_channels_last("my data", {32, 16, 3}, {3, 32, 16}); }),
             Catch::Contains("32x16x3") && Catch::Contains("transpose(0, 3, 1, 2)") &&
                 Catch::Contains("'my data/train_x.npy' 'my data/test_x.npy'"));
  CHECK_NOTHROW(refuse_channels_last("d", {3, 3, 3}, {3, 3, 3}));
  CHECK_NOTHROW(refuse_channels_last("d", {32, 32, 3}, {784}));
  CHECK_NOTHROW(refuse_channels_last("d", {3072}, {3, 32, 32}));
}
