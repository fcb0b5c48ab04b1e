#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/session/session_setup.h"
#include "app/session/turn_taker.h"
#include "src/base/error.h"
#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// One configuration, measured by fresh processes that plan from one choice of operators. What a
/// process did, a crash included, ends up in the record; what the session itself broke is thrown.
class RunSession : public TurnTaker {
 public:
  /// Chooses operators and verifies, in a process of its own that is killed when it has said
  /// nothing for half an hour. False: the configuration failed, was interrupted, or has nothing to
  /// be measured, and the record says why.
  [[nodiscard]] virtual bool prepare() = 0;
  /// Measures one repetition in a fresh process, after `prepare`. `label`, such as "repetition 3 of
  /// 5", stands before the progress that the process shows. False as for `prepare`.
  [[nodiscard]] virtual bool repeat(const std::string& label) = 0;
  /// Repetitions that this session measured.
  [[nodiscard]] virtual Size repetitions() const = 0;
  /// What an earlier program measured of this configuration; at any time, once.
  virtual void resume(RunRecord earlier) = 0;

  /// Everything so far, pooled.
  [[nodiscard]] virtual RunRecord record() const = 0;
  /// Where the program that measured says it comes from and ran; empty before `prepare`.
  [[nodiscard]] virtual const std::optional<ResultFile>& origin() const = 0;
  /// The usage or capability error (exit code 1 or 5) that a process ended with, which is the
  /// record's reason too.
  [[nodiscard]] virtual const std::optional<Error>& refusal() const = 0;
};

/// A session of processes of `ptbench`, whose temporary files go with it. What `around` names
/// outlives it.
[[nodiscard]] std::unique_ptr<RunSession> open_session(SessionSetup setup,
                                                       const SessionSurroundings& around);

}  // namespace ptbench
