#include "src/data/meant_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "src/base/python_line.h"
#include "src/base/size.h"
#include "src/base/text.h"
#include "src/data/directory_files.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// More is not looked at: what was named may be the root of everything.
constexpr std::size_t kMostEntries = 1000;
constexpr int kDeepest = 2;

/// What a directory holds, by name; what it may not be asked is left out.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator() && entries.size() < kMostEntries;
       entry.increment(error))
    entries.push_back(entry->path());
  std::ranges::sort(entries);
  return entries;
}

/// `directory` first, then what lies below, the nearest first.
std::vector<fs::path> folders_from(const fs::path& directory) {
  std::vector<fs::path> folders{directory};
  std::size_t begin = 0;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const std::size_t end = folders.size();
    for (; begin < end && folders.size() < kMostEntries; ++begin)
      for (const fs::path& entry : entries_of(folders[begin])) {
        std::error_code ignored;
        if (fs::is_directory(entry, ignored)) folders.push_back(entry);
      }
  }
  return folders;
}

/// A file that ptbench looks for, and what others call it.
struct OtherName {
  std::string_view name;
  std::vector<std::string_view> all_of;  ///< parts of the other name,
  std::vector<std::string_view> any_of;  ///< and one of these at least
};
using OtherNames = std::array<OtherName, 4>;

OtherNames names_of_idx() {
  return {{{"train-images-idx3-ubyte", {"train", "images", "idx3", "ubyte"}, {""}},
           {"train-labels-idx1-ubyte", {"train", "labels", "idx1", "ubyte"}, {""}},
           {"t10k-images-idx3-ubyte", {"images", "idx3", "ubyte"}, {"t10k", "test"}},
           {"t10k-labels-idx1-ubyte", {"labels", "idx1", "ubyte"}, {"t10k", "test"}}}};
}

OtherNames names_of_npy() {
  const std::vector<std::string_view> samples{"x_", "_x", "image", "data", "feature", "sample"};
  const std::vector<std::string_view> labels{"y_", "_y", "label", "target", "class"};
  return {{{"train_x.npy", {"train", ".npy"}, samples},
           {"train_y.npy", {"train", ".npy"}, labels},
           {"test_x.npy", {"test", ".npy"}, samples},
           {"test_y.npy", {"test", ".npy"}, labels}}};
}

bool is_called(const std::string& file, const OtherName& other) {
  const std::string lower = in_lower_case(file);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  return std::ranges::all_of(other.all_of, has) && std::ranges::any_of(other.any_of, has);
}

/// The command that gives the files of `folder` their names, where all four are there.
std::optional<std::string> linking(const fs::path& folder, const OtherNames& names) {
  const std::vector<fs::path> entries = entries_of(folder);
  std::vector<std::string> links;
  for (const OtherName& name : names) {
    const auto found = std::ranges::find_if(
        entries, [&](const fs::path& entry) { return is_called(entry.filename().string(), name); });
    if (found == entries.end()) return std::nullopt;
    const std::string file = found->filename().string();
    links.push_back(fmt::format("ln -s {} {}{}", shell_word(file), name.name,
                                file.ends_with(".gz") ? ".gz" : ""));
  }
  return fmt::format("the files have other names: (cd {} && {})", shell_word(folder.string()),
                     fmt::join(links, " && "));
}

/// The command that unpacks an archive of numpy's with Keras' names.
std::optional<std::string> unpacking(const fs::path& folder) {
  constexpr std::streamoff kDirectory = 1 << 14;  // of the archive, at its end
  for (const fs::path& entry : entries_of(folder)) {
    std::error_code ignored;
    if (entry.extension() != ".npz" || !fs::is_regular_file(entry, ignored)) continue;
    std::ifstream file(entry, std::ios::binary | std::ios::ate);
    const std::streamoff size = file.tellg();
    std::string end(static_cast<std::size_t>(std::clamp<std::streamoff>(size, 0, kDirectory)),
                    '\0');
    file.seekg(size - static_cast<std::streamoff>(end.size()));
    file.read(end.data(), static_cast<std::streamsize>(end.size()));
    const auto has = [&](const char* member) { return end.find(member) != std::string::npos; };
    if (!has("x_train.npy") || !has("y_train.npy") || !has("x_test.npy") || !has("y_test.npy"))
      continue;
    return "unpack the archive: " +
           python_line(
               "d = np.load(f); [np.save(os.path.join(os.path.dirname(f), p + '_' + s + '.npy'), "
               "a[:, None] if s == 'x' and a.ndim == 3 else a.reshape(-1) if s == 'y' else a) for "
               "p in ('train', 'test') for s in 'xy' for a in [d[s + '_' + p]]]",
               {entry});
  }
  return std::nullopt;
}

/// CIFAR's other versions cannot be read under any name.
bool is_other_cifar(const fs::path& folder) {
  return holds_any(folder, std::array{"data_batch_1", "batches.meta"}) ||
         (holds_any(folder, std::array{"train.bin"}) && holds_any(folder, std::array{"test.bin"}));
}

}  // namespace

std::string meant_data(const fs::path& directory, FunctionRef<bool(const fs::path&)> holds_data) {
  const std::vector<fs::path> folders = folders_from(directory);
  for (const fs::path& folder : folders)
    if (folder != directory && holds_data(folder))
      return fmt::format("did you mean --data {}?", shell_word(folder.string()));
  for (const fs::path& folder : folders) {
    const bool is_below = folder != directory;
    const std::string then =
        is_below ? fmt::format(", and give --data {}", shell_word(folder.string())) : "";
    for (const OtherNames& names : {names_of_idx(), names_of_npy()})
      if (const auto command = linking(folder, names)) return *command + then;
    if (const auto command = unpacking(folder)) return *command + then;
    if (is_other_cifar(folder))
      return "download CIFAR-10's binary version, cifar-10-binary.tar.gz: CIFAR-100 and the Python "
             "version have other records";
  }
  return {};
}

}  // namespace ptbench
