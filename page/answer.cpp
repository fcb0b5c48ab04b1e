#include "page/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "reports/run_words.h"
#include "reports/scaling_text.h"
#include "src/base/error.h"
#include "src/judge/ranking.h"
#include "src/measure/interval_text.h"
#include "src/measure/reliability.h"

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

std::vector<const RunRecord*> runs_of(const Group& group) {
  std::vector<const RunRecord*> runs;
  for (const PlacedRun& placed : group.runs) runs.push_back(placed.run);
  return runs;
}

NameStyle style_of(const Group& group) {
  return {.cores = group.runs.front().file->environment.cpu.cores};
}

std::string words_of(Status status, Size count) {
  const std::string_view were = count == 1 ? "was" : "were";
  switch (status) {
    case Status::failed: return "failed";
    case Status::skipped: return fmt::format("{} skipped", were);
    case Status::interrupted: return fmt::format("{} interrupted", were);
    case Status::ok: return "gave no throughput";
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
      : group_(group),
        ranking_(ranking_of(runs_of(group))),
        names_(names_of(ranking_.runs, style_of(group))) {
    answer_.workload = group.workload;
    answer_.host = group.host;
  }

  Answer answer() {
    if (ranking_.runs.empty()) {
      tell_nothing_measured();
      return answer_;
    }
    tell_fastest();
    tell_reliability();
    tell_scaling();
    return answer_;
  }

 private:
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

  void tell_fastest() {
    FastestText text = fastest_text(ranking_, names_);
    answer_.sentence = std::move(text.sentence);
    answer_.beside = std::move(text.beside);
    if (ranking_.fastest() == nullptr) return;
    answer_.fastest = names_.front();
    if (ranking_.rivals.empty()) return;
    answer_.fastest += " or " + rivals_text(ranking_, names_);
  }

  void tell_reliability() {
    const RunRecord& first = *ranking_.runs.front();
    const Reliability found = reliability_of(first);
    answer_.is_reliable = found.is_reliable();
    answer_.speed = throughput_words(first);
    answer_.reliability = text_of(found);
    if (ranking_.runs.size() == 1) return;
    const auto reliable = std::ranges::count_if(
        ranking_.runs, [](const RunRecord* run) { return reliability_of(*run).is_reliable(); });
    answer_.reliability_note = fmt::format("{} of {} measured runs have a reliable throughput",
                                           reliable, ranking_.runs.size());
  }

  [[nodiscard]] const RunRecord* baseline_of(const RunRecord& run) const {
    const auto place = group_.places.find(run.scaling->baseline.value_or(""));
    return place == group_.places.end() ? nullptr : group_.runs[place->second].run;
  }

  /// The best that several ranks reached, against serial training.
  void tell_scaling() {
    const RunRecord* const found = fastest_on_ranks(ranking_);
    if (found == nullptr) {
      answer_.efficiency_of =
          "no run on several ranks is compared with serial; ptbench sweep -n 1,2 does that";
      answer_.loss_advice = "no run on several ranks lost anything";
      return;
    }
    const RunRecord& run = *found;
    const RunRecord* const baseline = baseline_of(run);
    answer_.efficiency = efficiency_text(run);
    answer_.efficiency_of =
        fmt::format("{} in {} scaling, against {}", name_in(ranking_, names_, &run),
                    name_of(run.scaling->mode), run.scaling->baseline.value_or("serial"));
    if (const auto& interval = run.scaling->efficiency_ci95;
        interval &&
        form_of(run.scaling->efficiency.value_or(0), *interval) == IntervalForm::ends_alone)
      answer_.efficiency_of += "; not known well";
    answer_.is_efficiency_told = is_ratio_reliable(run, baseline);
    for (const RunRecord* side : {&run, baseline})
      if (side != nullptr && !reliability_of(*side).is_reliable())
        answer_.efficiency_of += fmt::format("; {}", text_of(reliability_of(*side)));
    answer_.loss = largest_loss_text(run, baseline);
    answer_.loss_advice = lost_text(run, baseline);
  }

  const Group& group_;
  Ranking ranking_;
  std::vector<std::string> names_;  ///< of the runs of the ranking
  Answer answer_;
};

}  // namespace

std::vector<Answer> answers_of(std::span<const ResultFile> files) {
  std::vector<Answer> answers;
  for (const Group& group : groups_of(files)) answers.push_back(AnswerMaker(group).answer());
  return answers;
}

}  // namespace ptbench
