#include "reports/trace_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kKernel = "kernel";

/// What a stream shows of a phase.
enum class Shown : std::uint8_t {
  nothing,        ///< the host works or waits
  compute,        ///< a kernel
  communication,  ///< a kernel that moves data between replicas
};

enum class Payload : std::uint8_t { none, micro_batch, bytes };

struct PhaseRow {
  Shown shown;
  std::string_view kernel;
  Payload payload;
};

/// In the order of StepPhase. `communication` is shown as collectives. Tools tell communication
/// from computation by the beginning of a kernel's name.
constexpr std::array<PhaseRow, kStepPhases> kPhases{{
    {Shown::nothing, {}, Payload::micro_batch},
    {Shown::communication, "ncclKernel_Scatter", Payload::bytes},
    {Shown::communication, "ncclKernel_Broadcast", Payload::bytes},
    {Shown::compute, "forward", Payload::micro_batch},
    {Shown::communication, "ncclKernel_Gather", Payload::bytes},
    {Shown::compute, "backward", Payload::micro_batch},
    {Shown::communication, "ncclKernel_Reduce", Payload::bytes},
    {Shown::nothing, {}, Payload::bytes},
    {Shown::compute, "optimizer", Payload::bytes},
    {Shown::nothing, {}, Payload::none},
}};

struct CollectiveRow {
  std::string_view kernel;
  std::string_view name;  ///< as PyTorch calls it
};

/// In the order of CollectiveKind.
constexpr std::array<CollectiveRow, 9> kCollectives{{
    {"ncclKernel_AllReduce", "allreduce"},
    {"ncclKernel_ReduceScatter", "reduce_scatter"},
    {"ncclKernel_AllGather", "allgather"},
    {"ncclKernel_Reduce", "reduce"},
    {"ncclKernel_Gather", "gather"},
    {"ncclKernel_Broadcast", "broadcast"},
    {"ncclKernel_Send", "send"},
    {"ncclKernel_Recv", "recv"},
    {"ncclKernel_Barrier", "barrier"},
}};

/// Larger than any number of rows: pandas, from 3 on, refuses indices of rows in a column of
/// numbers that were small enough for a byte, and HTA puts them there.
constexpr Size kFirstCorrelation = 1 << 24;

const PhaseRow& phase_row(StepPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::int64_t nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

/// The whole microsecond before, for moments after 0.
std::int64_t whole_microsecond(std::int64_t nanoseconds) {
  constexpr std::int64_t kMicrosecond = 1000;
  return nanoseconds / kMicrosecond * kMicrosecond;
}
double microseconds(double seconds) { return static_cast<double>(nanoseconds(seconds)) / 1e3; }

/// A part of a phase that no other interrupts.
struct Segment {
  StepPhase phase{};
  double begin = 0;
  double end = 0;
};

/// `spans` nest, in the order in which they begin.
std::vector<Segment> segments_of(std::span<const TracedSpan> spans) {
  std::vector<Segment> segments;
  std::vector<const TracedSpan*> open;
  double since = 0;
  const auto pass = [&](double now) {
    if (!open.empty() && now > since)
      segments.push_back({.phase = open.back()->phase, .begin = since, .end = now});
    since = now;
  };
  const auto close_until = [&](double now) {
    while (!open.empty() && open.back()->end <= now) {
      pass(open.back()->end);
      open.pop_back();
    }
  };
  for (const TracedSpan& span : spans) {
    close_until(span.begin);
    pass(span.begin);
    open.push_back(&span);
  }
  close_until(std::numeric_limits<double>::infinity());
  return segments;
}

/// When a collective is shown on its stream.
struct OnStream {
  double begin = 0;
  double end = 0;
};

std::vector<OnStream> place_on_stream(std::span<const TracedCollective> collectives) {
  std::vector<OnStream> placed;
  double free_at = 0;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const TracedCollective& own = collectives[i];
    const double begin = std::max(own.ran ? own.ran->begin : own.begin, free_at);
    double end = own.ran ? std::max(own.ran->end, begin) : own.end;
    const bool ends_with_next =
        !own.ran && i + 1 < collectives.size() && collectives[i + 1].end == own.end;
    if (ends_with_next) {
      double bytes = 0;  // of those that end together, from this one on
      for (std::size_t j = i; j < collectives.size() && collectives[j].end == own.end; ++j)
        bytes += static_cast<double>(std::max<Bytes>(collectives[j].what.bytes, 1));
      const auto part = static_cast<double>(std::max<Bytes>(own.what.bytes, 1)) / bytes;
      const double shared = begin + (own.end - begin) * part;
      end = std::min(std::max(shared, collectives[i + 1].begin), own.end);
    }
    placed.push_back({.begin = begin, .end = end});
    free_at = end;
  }
  return placed;
}

/// The rows of one rank.
class Rows {
 public:
  Rows(const TraceRecorder& recorder, const TracedProcess& process, const ActivityLog* activity)
      : recorder_(recorder),
        activity_(activity),
        steps_(recorder.whole_steps()),
        rank_(process.rank),
        world_size_(process.world_size),
        device_numbers_(process.device_numbers) {}

  std::vector<TraceRow> take() {
    if (steps_.empty()) return {};
    add_steps();
    for (std::size_t track = 0; track < recorder_.tracks().size(); ++track) add_track(track);
    add_collectives();
    if (activity_ != nullptr) add_activity();
    sort();
    return std::move(rows_);
  }

 private:
  /// Of rows that last equally long, that comes first which was added first.
  void sort() {
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t index) {
      const TraceRow& row = rows_[index];
      const bool follows = row.category == kKernel;  // rows of a thread nest
      return std::tuple(row.process, row.line, row.begin, follows ? row.end : -row.end, index);
    });
    std::vector<TraceRow> sorted;
    sorted.reserve(rows_.size());
    for (const std::size_t index : order) sorted.push_back(std::move(rows_[index]));
    rows_ = std::move(sorted);
  }

  /// Whether it lies in the whole steps, and has ended.
  template <class Traced>
  [[nodiscard]] bool is_whole(const Traced& traced) const {
    return traced.end != TraceTrack::kOpen && traced.begin >= steps_.front().begin &&
           traced.end <= steps_.back().end;
  }

  template <class Traced>
  [[nodiscard]] std::vector<Traced> whole(std::span<const Traced> all) const {
    std::vector<Traced> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [this](const Traced& traced) { return is_whole(traced); });
    return some;
  }

  void add(std::string_view category, std::string name, std::pair<Size, Size> place, double begin,
           double end, Json args = Json::object()) {
    rows_.push_back({.category = category,
                     .name = std::move(name),
                     .process = place.first,
                     .line = place.second,
                     .begin = nanoseconds(begin),
                     .end = nanoseconds(end),
                     .args = std::move(args)});
  }

  [[nodiscard]] std::pair<Size, Size> thread(std::size_t track) const {
    return {process_of(rank_), thread_of(track)};
  }

  void add_steps() {
    for (const TracedStep& step : steps_)
      add("user_annotation", fmt::format("ProfilerStep#{}", step.number), thread(0), step.begin,
          step.end);
  }

  void add_track(std::size_t track) {
    const std::vector<TracedSpan> spans = whole(recorder_.tracks()[track].spans());
    for (const TracedSpan& span : spans) {
      Json args = Json::object();
      const Payload payload = phase_row(span.phase).payload;
      if (payload == Payload::micro_batch) args["micro_batch"] = span.payload;
      if (payload == Payload::bytes && span.payload > 0) args["bytes"] = span.payload;
      add("cpu_op", std::string(name_of(span.phase)), thread(track), span.begin, span.end,
          std::move(args));
    }
    for (const Segment& segment : segments_of(spans)) {
      const PhaseRow& row = phase_row(segment.phase);
      if (row.shown == Shown::nothing) continue;
      add_kernel(std::string(row.kernel), track,
                 row.shown == Shown::compute ? kComputeStream : kCommunicationStream, segment.begin,
                 {.begin = segment.begin, .end = segment.end}, Json::object());
    }
  }

  /// Launched at `launch` by the track's thread. `args` are told besides.
  void add_kernel(std::string name, std::size_t track, Size stream, double launch, OnStream when,
                  const Json& more) {
    const auto replica = static_cast<Size>(track);
    const Size line = stream + kStreamsOfReplica * replica;
    if (activity_ != nullptr) {  // the kernels are others
      add("gpu_user_annotation", std::move(name),
          {device_of(rank_, replica), kFirstAnnotation + line}, when.begin, when.end, more);
      return;
    }
    ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", thread(track), launch, launch,
        {{"correlation", correlation_}});
    Json args{{"device", replica}, {"stream", line}, {"correlation", correlation_}};
    args.update(more);
    add(kKernel, std::move(name), {device_of(rank_, replica), line}, when.begin, when.end,
        std::move(args));
  }

  void add_collectives() {
    const std::vector<TracedCollective> collectives =
        whole(recorder_.tracks().front().collectives());
    const std::vector<OnStream> placed = place_on_stream(collectives);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const TracedCollective& own = collectives[i];
      const CollectiveRow& row = kCollectives[static_cast<std::size_t>(own.what.kind)];
      // The device may have begun before the queue for computing passed the call.
      const double launch = std::min(own.begin, placed[i].begin);
      add_kernel(std::string(row.kernel), 0, kCommunicationStream, launch, placed[i],
                 {{"Collective name", row.name},
                  {"Group size", world_size_},
                  {"dtype", own.what.type == ElementType::bf16 ? "BFloat16" : "Float"},
                  {"bytes", own.what.bytes},
                  {"Seq", i},
                  {"started", microseconds(own.begin)},
                  {"finished", microseconds(own.end)}});
    }
  }

  /// The calls that were made since the first of the steps began, and what they gave to devices.
  void add_activity() {
    const double end =
        recorder_.is_cut() ? steps_.back().end : std::numeric_limits<double>::infinity();
    std::set<std::uint32_t> calls;
    for (const DeviceActivity& activity : activity_->activities)
      if (activity.kind == ActivityKind::call && activity.begin >= steps_.front().begin &&
          activity.begin < end)
        calls.insert(activity.correlation);
    for (const DeviceActivity& activity : activity_->activities)
      if (calls.contains(activity.correlation)) add(activity, replica_on(activity.device));
  }

  /// The first of the replicas on that device; the first of all where none is known to be.
  [[nodiscard]] Size replica_on(Size device) const {
    const auto found = std::ranges::find(device_numbers_, device);
    return found == device_numbers_.end() ? 0 : found - device_numbers_.begin();
  }

  void add(const DeviceActivity& activity, Size replica) {
    const Size correlation = kFirstCorrelation + activity.correlation;
    if (activity.kind == ActivityKind::call) {
      const bool by_driver = !activity.name.starts_with("cuda");
      add(by_driver ? "cuda_driver" : "cuda_runtime", activity.name,
          {process_of(rank_), kFirstCaller + activity.line}, activity.begin, activity.end,
          {{"correlation", correlation}});
      rows_.back().is_of_device = true;
      return;
    }
    Json args{{"device", replica}, {"stream", activity.line}, {"correlation", correlation}};
    if (activity.kind != ActivityKind::kernel) args["bytes"] = activity.bytes;
    const std::string_view category = activity.kind == ActivityKind::kernel ? kKernel
                                      : activity.kind == ActivityKind::copy ? "gpu_memcpy"
                                                                            : "gpu_memset";
    add(category, activity.name, {device_of(rank_, replica), activity.line}, activity.begin,
        activity.end, std::move(args));
    rows_.back().is_of_device = true;
  }

  const TraceRecorder& recorder_;
  const ActivityLog* activity_;  ///< may be null
  std::vector<TracedStep> steps_;
  Size rank_;
  Size world_size_;
  std::vector<Size> device_numbers_;
  std::vector<TraceRow> rows_;
  Size correlation_ = kFirstCorrelation;
};

}  // namespace

std::vector<TraceRow> trace_rows(const TraceRecorder& recorder, const TracedProcess& process,
                                 const ActivityLog* activity) {
  return Rows(recorder, process, activity).take();
}

void keep_whole_microseconds(std::vector<TraceRow>& rows) {
  constexpr std::int64_t kAfterLaunch = 1000;
  for (TraceRow& row : rows) {
    if (row.is_of_device) continue;
    const std::int64_t later = row.category == kKernel ? kAfterLaunch : 0;
    row.begin = whole_microsecond(row.begin) + later;
    row.end = whole_microsecond(row.end) + later;
  }
}

void keep_order_only(std::vector<TraceRow>& rows) {
  std::vector<std::int64_t> times;
  for (const TraceRow& row : rows) {
    times.push_back(row.begin);
    times.push_back(row.end);
  }
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  const auto place = [&times](std::int64_t time) {
    constexpr std::int64_t kMicrosecond = 1000;
    return kMicrosecond * (std::ranges::lower_bound(times, time) - times.begin());
  };
  for (TraceRow& row : rows) {
    row.begin = place(row.begin);
    row.end = place(row.end);
    for (const char* time : {"started", "finished"})
      if (row.args.contains(time)) row.args.erase(time);
  }
}

}  // namespace ptbench
