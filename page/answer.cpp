#include "page/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "page/run_words.h"
#include "reports/scaling_text.h"
#include "src/base/error.h"
#include "src/judge/step_ratio.h"
#include "src/measure/reliability.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

/// A run and the file that it is in.
struct PlacedRun {
  const ResultFile* file = nullptr;
  const RunRecord* run = nullptr;
};

/// Runs that are looked at together.
struct Group {
  std::string workload;
  std::string host;
  std::vector<PlacedRun> runs;
  std::map<std::string_view, std::size_t> places;  ///< of ids in `runs`
};

/// Takes the place of an older run of the same id.
void add_run(const PlacedRun& placed, Group& group) {
  const auto [place, is_new] = group.places.try_emplace(placed.run->id, group.runs.size());
  if (is_new)
    group.runs.push_back(placed);
  else if (group.runs[place->second].file->created <= placed.file->created)
    group.runs[place->second] = placed;
}

std::vector<Group> groups_of(std::span<const ResultFile> files) {
  std::vector<Group> groups;
  for (const ResultFile& file : files)
    for (const RunRecord& run : file.runs) {
      auto group = std::ranges::find_if(groups, [&](const Group& other) {
        return other.workload == run.workload.name && other.host == file.environment.host.name;
      });
      if (group == groups.end())
        group =
            groups.insert(groups.end(), {run.workload.name, file.environment.host.name, {}, {}});
      add_run({&file, &run}, *group);
    }
  return groups;
}

/// How many times as fast, and half the width of its 95 % interval.
struct SpeedRatio {
  double value = 1;
  std::optional<double> half_width;

  [[nodiscard]] bool is_told_from_one() const {
    return half_width && std::abs(value - 1) > *half_width;
  }
};

SpeedRatio speed_ratio(const RunRecord& run, const RunRecord& other) {
  SpeedRatio ratio{.value = *run.throughput.value / *other.throughput.value, .half_width = {}};
  const std::optional<double> alone = step_of(other);
  const std::optional<double> beside = step_beside(run, other);
  if (alone && beside) ratio.value *= *beside / *alone;
  if (const auto half = ratio_half_width(run, other, false, {}))
    ratio.half_width = ratio.value * std::sinh(*half);
  return ratio;
}

/// "1.18 ± 0.03 times as fast as".
std::string ratio_text(const SpeedRatio& ratio) {
  if (!ratio.half_width) return fmt::format("{:.2f} times as fast as", ratio.value);
  return fmt::format("{:.2f} ± {:.2f} times as fast as", ratio.value, *ratio.half_width);
}

/// Whether the run may be ranked: at least `kLeastRepetitions` clean repetitions tell its speed,
/// however well.
bool can_be_ranked(const RunRecord& run) {
  const Trust trust = reliability_of(run).trust;
  return trust == Trust::reliable || trust == Trust::too_noisy;
}

/// The measured runs of a group: those that can be ranked first, the fastest before slower ones.
std::vector<const RunRecord*> ranking_of(const Group& group) {
  std::vector<const RunRecord*> ranking;
  for (const PlacedRun& placed : group.runs)
    if (has_throughput(*placed.run)) ranking.push_back(placed.run);
  std::ranges::sort(ranking, [](const RunRecord* one, const RunRecord* other) {
    if (can_be_ranked(*one) != can_be_ranked(*other)) return can_be_ranked(*one);
    if (*one->throughput.value != *other->throughput.value)
      return *one->throughput.value > *other->throughput.value;
    return one->id < other->id;
  });
  return ranking;
}

/// "17.0 k samples/s ± 0.9 %", or with what is the matter with it.
std::string speed_with_doubt(const RunRecord& run) {
  const Reliability found = reliability_of(run);
  return found.is_reliable() ? throughput_words(run)
                             : fmt::format("{} ({})", speed_text(run), text_of(found));
}

std::string words_of(Status status, Size count) {
  const std::string_view were = count == 1 ? "was" : "were";
  switch (status) {
    case Status::failed: return "failed";
    case Status::skipped: return fmt::format("{} skipped", were);
    case Status::interrupted: return fmt::format("{} interrupted", were);
    case Status::ok: return "told no throughput";
  }
  throw Defect("a status without words");
}

/// "2 runs failed, 1 run was skipped".
std::string statuses_text(const Group& group) {
  std::string text;
  for (const Status status : {Status::failed, Status::skipped, Status::interrupted, Status::ok}) {
    const auto count = std::ranges::count_if(
        group.runs, [&](const PlacedRun& placed) { return placed.run->status == status; });
    if (count > 0)
      text += fmt::format("{}{} run{} {}", text.empty() ? "" : ", ", count, count == 1 ? "" : "s",
                          words_of(status, count));
  }
  return text;
}

/// Finds the answer of one group.
class AnswerMaker {
 public:
  explicit AnswerMaker(const Group& group)
      : group_(group), ranking_(ranking_of(group)), names_(names_of(ranking_)) {
    answer_.workload = group.workload;
    answer_.host = group.host;
  }

  Answer answer() {
    if (ranking_.empty()) {
      tell_nothing_measured();
      return answer_;
    }
    tell_reliability();
    if (!can_be_ranked(first()))
      tell_unranked();
    else if (ranking_.size() == 1)
      tell_only();
    else
      tell_fastest();
    tell_scaling();
    return answer_;
  }

 private:
  [[nodiscard]] const RunRecord& first() const { return *ranking_.front(); }

  void tell_nothing_measured() {
    answer_.sentence = fmt::format("Nothing was measured: {}.", statuses_text(group_));
    const auto reason = std::ranges::find_if(group_.runs, [](const PlacedRun& placed) {
      return placed.run->reason && !placed.run->reason->empty();
    });
    if (reason != group_.runs.end())
      answer_.beside = fmt::format("{}: {}", reason->run->id, *reason->run->reason);
    answer_.reliability = "no figures";
    answer_.efficiency_of = "no run was measured";
    answer_.loss_advice = "no run was measured";
  }

  void tell_reliability() {
    const Reliability found = reliability_of(first());
    answer_.is_reliable = found.is_reliable();
    answer_.speed = throughput_words(first());
    answer_.reliability = text_of(found);
    if (ranking_.size() == 1) return;
    const auto reliable = std::ranges::count_if(
        ranking_, [](const RunRecord* run) { return reliability_of(*run).is_reliable(); });
    answer_.reliability_note =
        fmt::format("{} of {} measured runs have a reliable throughput", reliable, ranking_.size());
  }

  void tell_unranked() {
    const std::string trust = text_of(reliability_of(first()));
    if (ranking_.size() == 1)
      answer_.sentence = fmt::format("{} measured {}, but this is {}.", names_.front(),
                                     speed_text(first()), trust);
    else
      answer_.sentence = fmt::format(
          "Which run is the fastest cannot be said: none of {} has {} clean repetitions. {} "
          "measured "
          "most, {}, but is {}.",
          ranking_.size(), kLeastRepetitions, names_.front(), speed_text(first()), trust);
  }

  void tell_only() {
    answer_.fastest = names_.front();
    answer_.sentence = fmt::format("{} trains {}.", names_.front(), speed_with_doubt(first()));
  }

  /// Places of ranked runs whose difference from the first is within noise.
  [[nodiscard]] std::vector<std::size_t> places_like_first() const {
    std::vector<std::size_t> places;
    for (std::size_t at = 1; at < ranking_.size() && can_be_ranked(*ranking_[at]); ++at) {
      const SpeedRatio ratio = speed_ratio(first(), *ranking_[at]);
      if (ratio.value < 1 || !ratio.is_told_from_one()) places.push_back(at);
    }
    return places;
  }

  void tell_fastest() {
    const std::vector<std::size_t> like = places_like_first();
    const std::string speed = speed_with_doubt(first());
    answer_.fastest = names_.front();
    if (!like.empty()) {
      const std::string others =
          like.size() == 1 ? names_[like.front()]
                           : fmt::format("{} and {} more", names_[like.front()], like.size() - 1);
      answer_.fastest += " or " + others;
      answer_.sentence = fmt::format("{} measured most, {}, but noise does not tell it from {}.",
                                     names_.front(), speed, others);
    } else if (can_be_ranked(*ranking_[1])) {
      answer_.sentence = fmt::format("{} is the fastest of {} runs: {}, {} the next, {}.",
                                     names_.front(), ranking_.size(), speed,
                                     ratio_text(speed_ratio(first(), *ranking_[1])), names_[1]);
    } else {
      answer_.sentence = fmt::format("{} trains {}; no other run has {} clean repetitions.",
                                     names_.front(), speed, kLeastRepetitions);
    }
    tell_faster_doubtful();
  }

  /// A run that measured more, of which that is not known.
  void tell_faster_doubtful() {
    const auto doubtful = std::ranges::find_if_not(
        ranking_, [](const RunRecord* run) { return can_be_ranked(*run); });
    if (doubtful == ranking_.end() || *(*doubtful)->throughput.value <= *first().throughput.value)
      return;
    answer_.beside = fmt::format("{} measured {}, but is {}.",
                                 names_[static_cast<std::size_t>(doubtful - ranking_.begin())],
                                 speed_text(**doubtful), text_of(reliability_of(**doubtful)));
  }

  [[nodiscard]] const RunRecord* baseline_of(const RunRecord& run) const {
    const auto place = group_.places.find(run.scaling->baseline.value_or(""));
    return place == group_.places.end() ? nullptr : group_.runs[place->second].run;
  }

  /// The best that several ranks reached, against serial training.
  void tell_scaling() {
    const auto found = std::ranges::find_if(ranking_, [](const RunRecord* run) {
      return run->strategy.world_size > 1 && run->scaling && run->scaling->efficiency;
    });
    if (found == ranking_.end()) {
      answer_.efficiency_of =
          "no run on several ranks is compared with serial; ptbench sweep -n 1,2 does that";
      answer_.loss_advice = "no run on several ranks lost anything";
      return;
    }
    const RunRecord& run = **found;
    const RunRecord* const baseline = baseline_of(run);
    answer_.efficiency = efficiency_text(run);
    answer_.efficiency_of = fmt::format(
        "{} in {} scaling, against {}", names_[static_cast<std::size_t>(found - ranking_.begin())],
        name_of(run.scaling->mode), run.scaling->baseline.value_or("serial"));
    for (const RunRecord* side : {&run, baseline})
      if (side != nullptr && !can_be_ranked(*side)) {
        answer_.efficiency_of += fmt::format("; {}", text_of(reliability_of(*side)));
        answer_.is_efficiency_told = false;
      }
    answer_.loss = largest_loss_text(run, baseline);
    answer_.loss_advice = lost_text(run, baseline);
  }

  const Group& group_;
  std::vector<const RunRecord*> ranking_;
  std::vector<std::string> names_;  ///< of the ranking
  Answer answer_;
};

}  // namespace

std::vector<Answer> answers_of(std::span<const ResultFile> files) {
  std::vector<Answer> answers;
  for (const Group& group : groups_of(files)) answers.push_back(AnswerMaker(group).answer());
  return answers;
}

}  // namespace ptbench
