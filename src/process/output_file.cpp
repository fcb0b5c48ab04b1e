#include "src/process/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/base/write_all.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

std::string_view remedy_for(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return "create the directory first, or name one that exists";
    case EACCES:
    case EPERM:
    case EROFS: return "name a file in a directory that you may write to";
    case EISDIR: return "name a file, not a directory";
    case ENOSPC:
    case EDQUOT: return "free some space, or name a file on another disk";
    case EFBIG: return "raise the limit of file sizes (ulimit -f)";
    default: return "name another file";
  }
}

Error cannot_write(const fs::path& path, const std::string& reason, std::string_view remedy) {
  return usage_error(fmt::format("cannot write '{}': {}", single_line(path.string()), reason),
                     std::string(remedy));
}

Error cannot_write(const fs::path& path, int error_number) {
  return cannot_write(path, std::generic_category().message(error_number),
                      remedy_for(error_number));
}

/// What `path` stands for when all links at its end are followed, also where nothing is there yet.
fs::path follow_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  fs::path target = path;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) throw cannot_write(path, ELOOP);
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) throw cannot_write(path, error.value());
  }
  return target;
}

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  return status;
}

/// All of `from`, to the end of `to`. 0, or the error number of what went wrong.
int copy_all(int from, int to) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;
  off_t offset = 0;
  for (;;) {
    const ssize_t copied = sendfile(to, from, &offset, kMostAtOnce);
    if (copied < 0 && errno != EINTR) return errno;
    if (copied == 0) return 0;
  }
}

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// A file that replaces another is private until it has the other's permissions; a new one gets
/// what the umask leaves.
mode_t first_permissions(const fs::path& target) { return status_of(target) ? 0600 : 0666; }

/// Puts the name of a new file on disk too. Best effort: the data is safe, and some file systems
/// cannot.
void sync_directory_of(const fs::path& file) {
  const Descriptor handle(open(directory_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.is_open()) (void)fsync(handle.number());
}

}  // namespace

OutputFile::OutputFile(const fs::path& path) : path_(path), target_(follow_links(path)) {
  if (!path.has_filename()) throw cannot_write(path, path.empty() ? ENOENT : EISDIR);
  if (const auto status = status_of(target_)) {
    if (S_ISDIR(status->st_mode)) throw cannot_write(path_, EISDIR);
    if (access(target_.c_str(), W_OK) != 0) throw cannot_write(path_, errno);
    if (S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode))
      throw cannot_write(path_, "it is a pipe, whose reader may keep the run waiting for ever",
                         "name a file, or pipe what goes to standard output");
    is_special_ = !S_ISREG(status->st_mode);
  }
  if (!is_special_) open_temporary();
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::open_temporary() {
  // To be read too, should it have to be copied.
  file_ = Descriptor(open(directory_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC,
                          first_permissions(target_)));
  if (!file_.is_open()) open_named();  // which says what is wrong with the folder, if anything is
}

void OutputFile::open_named() {
  const mode_t permissions = first_permissions(target_);
  const int error_number = make_name([&](const fs::path& name) {
    file_ = Descriptor(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions));
    return file_.is_open() ? 0 : errno;
  });
  if (error_number != 0) throw cannot_write(path_, error_number);
}

/// Has `make` make a file beside the target, which becomes the temporary one. 0, or the error
/// number of what went wrong, as `make` returns it.
int OutputFile::make_name(const std::function<int(const fs::path&)>& make) {
  constexpr std::size_t kLongestName = 200;  // leaves room for the rest within NAME_MAX
  const std::string target_name = target_.filename().string().substr(0, kLongestName);
  for (int attempt = 0;; ++attempt) {
    // A process that was killed may have left the name behind for one with the same number.
    const std::string suffix = attempt == 0 ? "" : fmt::format("-{}", attempt);
    const fs::path name = target_.parent_path() /
                          fmt::format(".{}.ptbench-partial-{}{}", target_name, getpid(), suffix);
    const int error_number = make(name);
    if (error_number == 0) temporary_ = name;
    constexpr int kMostAttempts = 100;
    if (error_number != EEXIST || attempt == kMostAttempts) return error_number;
  }
}

/// Gives the file a name that nothing has yet. 0, or the error number of what went wrong.
int OutputFile::link_to(const fs::path& name) const {
  // The way that needs no privilege (open(2), O_TMPFILE).
  const std::string open_file = fmt::format("/proc/self/fd/{}", file_.number());
  const bool linked =
      linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  return linked ? 0 : errno;
}

void OutputFile::append(std::string_view text) {
  if (is_special_ && !file_.is_open()) {
    file_ = Descriptor(open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file_.is_open()) fail(errno);
  } else if (!file_.is_open()) {
    open_temporary();
  }
  if (const int error_number = write_all(file_.number(), text)) fail(error_number);
}

void OutputFile::commit() {
  if (!file_.is_open()) append({});
  if (is_special_) {
    if (close(file_.release()) != 0) fail(errno);
    return;
  }
  complete();
  if (temporary_.empty() && link_to(target_) == 0)
    file_ = Descriptor();
  else
    replace_target();
  sync_directory_of(target_);
}

/// As the target is to be, and on disk.
void OutputFile::complete() {
  if (const auto status = status_of(target_)) {
    // Owner first: changing it takes set-user-id bits away. Who may not give a file away keeps it.
    (void)!fchown(file_.number(), status->st_uid, status->st_gid);
    constexpr mode_t kPermissions = 07777;
    if (fchmod(file_.number(), status->st_mode & kPermissions) != 0) fail(errno);
  }
  if (fsync(file_.number()) != 0) fail(errno);
}

/// Without /proc, or the rights that it takes, a file that has no name gets none: then it is
/// copied.
void OutputFile::name_temporary() {
  if (make_name([this](const fs::path& name) { return link_to(name); }) == 0) return;
  const Descriptor nameless = std::move(file_);
  open_named();
  if (const int error_number = copy_all(nameless.number(), file_.number())) fail(error_number);
  complete();
}

void OutputFile::replace_target() {
  if (temporary_.empty()) name_temporary();
  if (close(file_.release()) != 0) fail(errno);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::discard() noexcept {
  file_ = Descriptor();
  if (temporary_.empty()) return;
  (void)unlink(temporary_.c_str());
  temporary_.clear();
}

void OutputFile::fail(int error_number) {
  discard();
  throw cannot_write(path_, error_number);
}

void write_standard_output(std::string_view text) {
  if (const int error_number = write_all(STDOUT_FILENO, text))
    throw cannot_write("(standard output)", error_number);
}

}  // namespace ptbench
