#pragma once

#include <algorithm>
#include <vector>

#include "src/comm/shm/shared_wait.h"

namespace ptbench::shared {

/// A communicator of a rank, for the others of that rank.
class ChoreSource {
 public:
  virtual ~ChoreSource() = default;
  /// Whether anything that was started waits for this rank's work: messages that come to it and,
  /// `with_collectives`, these too.
  [[nodiscard]] virtual bool has_chores(bool with_collectives) const = 0;
  /// Does of it what needs no waiting. Whether there was anything.
  virtual bool do_chores(bool with_collectives) = 0;
  /// Adds the changes by which there may be more to do.
  virtual void add_changes(bool with_collectives, SleepsFor& sleeps_for) const = 0;
};

/// What one rank has started in all of its communicators that one thread uses. While it waits in
/// one of them it does its part in the others, so that ranks which wait for their operations in
/// unlike orders do not wait for each other.
class RankChores final : public Chores {
 public:
  /// `source` outlives its stay.
  void join(ChoreSource& source) { sources_.push_back(&source); }
  void leave(ChoreSource& source) { std::erase(sources_, &source); }

  /// For a wait in `waiting`; null where there is nothing to do. A collective that waits has its
  /// own communicator's later ones wait too, which come sooner to what it waits for.
  [[nodiscard]] Chores* beside(const ChoreSource& waiting, bool for_collective) {
    waiting_ = for_collective ? &waiting : nullptr;
    const bool any = std::ranges::any_of(sources_, [this](const ChoreSource* source) {
      return source->has_chores(with_collectives(*source));
    });
    return any ? this : nullptr;
  }

  bool advance() override {
    bool any = false;
    for (ChoreSource* source : sources_)
      if (source->do_chores(with_collectives(*source))) any = true;
    return any;
  }

  void add_changes(SleepsFor& sleeps_for) const override {
    for (const ChoreSource* source : sources_)
      source->add_changes(with_collectives(*source), sleeps_for);
  }

 private:
  [[nodiscard]] bool with_collectives(const ChoreSource& source) const {
    return &source != waiting_;
  }

  std::vector<ChoreSource*> sources_;
  const ChoreSource* waiting_ = nullptr;
};

}  // namespace ptbench::shared
