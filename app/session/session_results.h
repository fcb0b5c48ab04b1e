#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session_process.h"
#include "app/session/session_setup.h"
#include "src/base/error.h"
#include "src/measure/record.h"
#include "src/process/process_messages.h"

namespace ptbench {

/// What the processes of a session have left, in their order: the record of each, or why there is
/// none.
class SessionResults {
 public:
  /// `setup` and what is around outlive the results.
  SessionResults(const SessionSetup& setup, const SessionSurroundings& around)
      : setup_(setup), around_(around) {}

  /// What the process of `task` ("repetition 3") left in the file `result`, which is removed. False
  /// where it did not do all it was to do; the record says why.
  bool take(const std::string& task, const std::filesystem::path& result, const TaskEnd& ended,
            const ProcessMessages& messages);
  /// Adds the record of a process that left none.
  void lose(Status status, std::string reason);
  /// Adds the record of a process that was not begun, since a signal had come.
  void lose_to_signal(const std::string& task);
  /// Adds the failure of a session that cannot go on.
  void refuse(const Error& error);
  /// What an earlier program measured comes first.
  void resume(RunRecord earlier);

  /// The record of the latest process.
  [[nodiscard]] RunRecord& last() { return records_.back(); }
  /// Everything so far, pooled.
  [[nodiscard]] RunRecord pooled() const;
  /// Where the program that measured says it comes from and ran; empty before it has left anything.
  [[nodiscard]] const std::optional<ResultFile>& origin() const { return origin_; }
  /// The usage or capability error that a process ended with.
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }

 private:
  [[nodiscard]] bool was_interrupted(const ChildExit& ended) const;
  [[nodiscard]] RunRecord record_of(const std::string& task, const std::filesystem::path& result,
                                    const TaskEnd& ended, const ProcessMessages& messages);
  [[nodiscard]] RunRecord record_of_launch(const std::string& task,
                                           const std::filesystem::path& result,
                                           const TaskEnd& ended, const ProcessMessages& messages);
  [[nodiscard]] std::optional<RunRecord> record_in(const std::filesystem::path& result,
                                                   const std::string& task, bool interrupted,
                                                   std::string& problem);
  [[nodiscard]] RunRecord read(const std::filesystem::path& result);
  [[nodiscard]] std::string unsuitable(const std::string& sign) const;
  [[nodiscard]] RunRecord lost(Status status, std::string reason) const;
  [[nodiscard]] std::optional<std::string> different_starts() const;

  const SessionSetup& setup_;
  const SessionSurroundings& around_;
  std::vector<RunRecord> records_;
  std::optional<ResultFile> origin_;
  std::optional<Error> refusal_;
};

}  // namespace ptbench
