#include "app/session/session_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "ptbench-";
constexpr std::string_view kRandom = "XXXXXX";
constexpr const char* kLock = "owner.lock";

/// The kernel gives a lock back when its owner ends, in whatever way; a process id would mean
/// nothing in another container that has the same folder.
bool try_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

/// Locked before it has its name, so that nobody finds it without an owner. -1 where the file
/// system has no locks.
int make_lock(const fs::path& folder) {
  const fs::path nameless = folder / "owner.new";
  const int descriptor = open(nameless.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (descriptor < 0) return -1;
  std::error_code failure;
  if (try_lock(descriptor)) fs::rename(nameless, folder / kLock, failure);
  return descriptor;
}

bool is_own_folder(const fs::path& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

bool is_named_like_one(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kRandom.size();
}

void remove_if_left(const fs::path& folder) {
  if (!is_named_like_one(folder) || !is_own_folder(folder)) return;
  const int descriptor = open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return;
  std::error_code ignored;
  if (try_lock(descriptor)) fs::remove_all(folder, ignored);
  (void)close(descriptor);
}

void remove_left_folders(const fs::path& parent) {
  std::error_code failure;
  fs::directory_iterator entry(parent, fs::directory_options::skip_permission_denied, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure))
    remove_if_left(entry->path());
}

}  // namespace

SessionFolder::SessionFolder() {
  std::error_code failure;
  fs::path parent = fs::temp_directory_path(failure);
  if (failure) parent = "/tmp";
  remove_left_folders(parent);
  std::string name = (parent / fmt::format("{}{}", kPrefix, kRandom)).string();
  if (mkdtemp(name.data()) == nullptr)
    throw usage_error(fmt::format("no folder can be made in '{}': {}", printable(parent.string()),
                                  std::generic_category().message(errno)),
                      "set TMPDIR to a folder that you may write to");
  path_ = std::move(name);
  lock_ = make_lock(path_);
}

SessionFolder::~SessionFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) (void)close(lock_);
}

std::string without_folder(const std::filesystem::path& file, std::string message) {
  const std::string path = file.string();
  const std::string name = file.filename().string();
  for (std::size_t at = message.find(path); at != std::string::npos;
       at = message.find(path, at + name.size()))
    message.replace(at, path.size(), name);
  return message;
}

}  // namespace ptbench
