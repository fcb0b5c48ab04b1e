#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ptbench {

/// A temporary folder of a session, removed with everything in it. Whoever is killed leaves one
/// behind: the next that is made in the same place removes it.
class SessionFolder {
 public:
  /// Where TMPDIR says, or in /tmp. Throws a usage error where that cannot be written to.
  SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;
  ~SessionFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path file(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  ///< the descriptor that says that the owner lives; -1: there is none
};

/// `message`, with the bare name of `file` in place of its path: the folder will be gone when
/// somebody reads it.
[[nodiscard]] std::string without_folder(const std::filesystem::path& file, std::string message);

}  // namespace ptbench
