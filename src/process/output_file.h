#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "src/process/descriptor.h"

namespace ptbench {

/// A file that appears whole or not at all: text goes to a temporary file on the target's disk,
/// which takes the target's place when it is complete and safe. Whether that can work is known when
/// the object is made, that is, before anything is measured.
///
/// The temporary file has no name, so that nothing of it stays when the process is killed. Where
/// the file system has no such files, it has a name beside the target.
///
/// A target that is a symbolic link is followed; an existing target keeps its permissions and,
/// where that is allowed, its owner; a file that is not regular (a device, a pipe) is written
/// directly. All failures are usage errors that name the file, the reason and a remedy.
class OutputFile {
 public:
  /// `path` as the user named it.
  explicit OutputFile(const std::filesystem::path& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes what was not committed.
  ~OutputFile();

  /// Adds to what the next commit will publish.
  void append(std::string_view text);
  /// Publishes what was appended since the last commit, in place of what the target held. On
  /// failure the target is as it was and the temporary file is gone.
  void commit();
  void commit(std::string_view text) {
    append(text);
    commit();
  }

  /// As the user named it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void open_temporary();
  void open_named();
  [[nodiscard]] int make_name(const std::function<int(const std::filesystem::path&)>& make);
  [[nodiscard]] int link_to(const std::filesystem::path& name) const;
  void complete();
  void name_temporary();
  void replace_target();
  void discard() noexcept;
  [[noreturn]] void fail(int error_number);

  std::filesystem::path path_;
  std::filesystem::path target_;     ///< links followed
  std::filesystem::path temporary_;  ///< empty: none, without a name, or written directly
  bool is_special_ = false;
  Descriptor file_;
};

/// Writes to standard output; a usage error if that fails (a full disk, a closed descriptor).
void write_standard_output(std::string_view text);

}  // namespace ptbench
