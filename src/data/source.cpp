#include "src/data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/python_line.h"
#include "src/base/text.h"
#include "src/data/byte_file.h"
#include "src/data/cifar.h"
#include "src/data/directory_format.h"
#include "src/data/idx.h"
#include "src/data/meant_data.h"
#include "src/data/npy.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// In the order in which a directory is searched. To add one: a file beside idx.cpp and a row.
std::array<DirectoryFormat, 3> directory_formats() {
  return {idx_format(), cifar_format(), npy_format()};
}

bool is_recognised(const fs::path& directory) {
  return std::ranges::any_of(directory_formats(), [&](const DirectoryFormat& format) {
    return format.recognises(directory);
  });
}

void check_directory(const fs::path& directory) {
  if (!file_exists(directory))
    throw usage_error(fmt::format("there is no data directory {}", quoted(directory)),
                      "give --data an existing directory, or 'synthetic'");
  if (fs::is_directory(directory)) return;
  const fs::path folder = directory.parent_path().empty() ? "." : directory.parent_path();
  throw usage_error(fmt::format("{} is not a directory", quoted(directory)),
                    is_recognised(folder)
                        ? fmt::format("did you mean --data {}?", shell_word(folder.string()))
                        : "give --data the directory that holds the data files");
}

void check_part(std::string_view part, const Dataset& dataset, const DataSource& data,
                Size classes) {
  const auto labels = dataset.labels();
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      throw usage_error(
          fmt::format("label {} of {} sample {} in '{}' is outside the workload's {} classes "
                      "(0 to {})",
                      labels[i], part, i, printable(data.source), classes, classes - 1),
          "choose a workload with as many classes as the data, or other data");
}

DirectoryFormat format_of(const fs::path& directory) {
  check_directory(directory);
  std::string looked_for;
  for (const DirectoryFormat& format : directory_formats()) {
    if (format.recognises(directory)) return format;
    looked_for +=
        fmt::format("{}{}: {}", looked_for.empty() ? "" : "; ", format.name, format.files);
  }
  const std::string meant =
      meant_data(directory, [](const fs::path& folder) { return is_recognised(folder); });
  throw usage_error(
      fmt::format("no data found in {}; looked for {}", quoted(directory), looked_for),
      meant.empty() ? "give --data the directory that holds such files, or 'synthetic'" : meant);
}

}  // namespace

DataSource load_directory(const std::string& directory) {
  DataSource data = format_of(directory).load(directory);
  data.source = directory;
  return data;
}

Shape sample_shape_of(const std::string& directory) {
  return format_of(directory).sample_shape(directory);
}

void check_labels(const DataSource& data, Size classes) {
  check_part("training", data.train, data, classes);
  check_part("test", data.test, data, classes);
}

void check_shape(const DataSource& data, const Shape& expected, std::string_view workload) {
  const Shape& shape = data.train.sample_shape();
  if (shape == expected) return;
  throw usage_error(
      fmt::format("the samples in '{}' are {}, and workload '{}' takes {}", printable(data.source),
                  shape.text(), printable(workload), expected.text()),
      shape.elements() == expected.elements()
          ? "save the samples in the workload's shape, or choose a workload that takes theirs"
          : "choose a workload that takes samples of this shape, or other data");
}

void refuse_channels_last(const std::string& directory, const Shape& given, const Shape& expected) {
  if (given.rank() != 3 || given == expected) return;
  if (Shape{given[2], given[0], given[1]} != expected) return;
  const fs::path folder(directory);
  throw usage_error(
      fmt::format("the images in {} are {}, with their channels last, and the workload takes {}",
                  quoted(folder), given.text(), expected.text()),
      fmt::format("convert them (the old files stay, their names end in .old): {}",
                  python_line("[(os.rename(f, f + '.old'), np.save(f, a)) for f in sys.argv[1:] "
                              "for a in [np.ascontiguousarray(np.load(f).transpose(0, 3, 1, 2))]]",
                              {folder / "train_x.npy", folder / "test_x.npy"})));
}

}  // namespace ptbench
