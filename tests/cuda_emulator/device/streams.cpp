#include "tests/cuda_emulator/device/streams.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

Streams::Streams(int devices, Scheduler& scheduler)
    : scheduler_(scheduler), devices_(static_cast<std::size_t>(devices)) {
  for (int device = 0; device < devices; ++device) create(device, true);
}

Stream& Streams::create(int device, bool joins_default) {
  auto stream = std::make_unique<Stream>();
  stream->number = next_number_++;
  stream->device = device;
  stream->joins_default = joins_default;
  streams_.push_back(std::move(stream));
  return *streams_.back();
}

bool Streams::destroy(const void* handle) {
  const auto begin = streams_.begin() + static_cast<std::ptrdiff_t>(devices_);
  const auto found = std::find_if(begin, streams_.end(),
                                  [=](const auto& stream) { return stream.get() == handle; });
  if (found == streams_.end()) return false;
  streams_.erase(found);
  return true;
}

Stream* Streams::find(const void* handle, int device) {
  const auto number = reinterpret_cast<U64>(handle);
  if (number <= 1) return streams_[static_cast<std::size_t>(device)].get();
  const auto found =
      std::ranges::find_if(streams_, [=](const auto& stream) { return stream.get() == handle; });
  return found == streams_.end() ? nullptr : found->get();
}

std::size_t Streams::created() const { return streams_.size() - devices_; }

/// The default stream begins after all streams that join it, and they after it.
void Streams::add_default_order(const Stream& stream, Operation& operation) {
  const auto index = static_cast<std::size_t>(stream.device);
  if (streams_[index].get() == &stream) {
    for (const auto& other : streams_)
      if (other->joins_default && other->device == stream.device && other->last)
        operation.after.push_back(other->last);
  } else if (stream.joins_default && streams_[index]->last) {
    operation.after.push_back(streams_[index]->last);
  }
}

OperationPtr Streams::push(Stream& stream, std::string what, std::function<void()> work,
                           std::vector<OperationPtr> after) {
  auto operation = std::make_shared<Operation>();
  operation->what = std::move(what);
  operation->work = std::move(work);
  operation->after = std::move(after);
  return add(stream, operation);
}

OperationPtr Streams::push_attempt(Stream& stream, std::string what, MakeAttempt make_attempt) {
  auto operation = std::make_shared<Operation>();
  operation->what = std::move(what);
  if (stream.capture)
    operation->make_attempt = std::move(make_attempt);
  else
    operation->attempt = make_attempt();
  return add(stream, operation);
}

OperationPtr Streams::add(Stream& stream, const OperationPtr& operation) {
  operation->device = stream.device;
  operation->stream = stream.number;
  if (stream.capture) {
    if (stream.last_captured) operation->after.push_back(stream.last_captured);
    operation->is_captured = true;
    stream.capture->operations.push_back(operation);
    return stream.last_captured = operation;
  }
  operation->what += text(" on stream ", stream.number);
  if (stream.last) operation->after.push_back(stream.last);
  add_default_order(stream, *operation);
  operation->count = ++stream.count;
  scheduler_.add(operation);
  return stream.last = operation;
}

std::unique_ptr<ExecutableGraph> Streams::instantiate(const std::shared_ptr<const Graph>& graph) {
  auto executable = std::make_unique<ExecutableGraph>();
  executable->graph = graph;
  std::map<U32, std::size_t> branches;
  for (const OperationPtr& operation : graph->operations) {
    const auto [found, is_new] = branches.emplace(operation->stream, executable->branches.size());
    if (is_new) {
      executable->branches.push_back(std::make_unique<Stream>());
      executable->branches.back()->number = next_number_++;
      executable->branches.back()->joins_default = false;
    }
    executable->branch_of.push_back(found->second);
  }
  return executable;
}

void Streams::launch(ExecutableGraph& graph, Stream& stream) {
  const OperationPtr begin =
      push(stream, "graph's begin", nullptr,
           graph.last_launch ? std::vector{graph.last_launch} : std::vector<OperationPtr>{});
  std::map<const Operation*, OperationPtr> copies;
  std::vector<OperationPtr> all;
  for (std::size_t index = 0; index < graph.graph->operations.size(); ++index) {
    const Operation& captured = *graph.graph->operations[index];
    Stream& branch = *graph.branches[graph.branch_of[index]];
    auto copy = std::make_shared<Operation>();
    copy->what = text(captured.what, " of a graph on stream ", stream.number);
    copy->work = captured.work;
    if (captured.make_attempt) copy->attempt = captured.make_attempt();
    copy->device = captured.device;
    copy->facts = captured.facts;
    copy->after.push_back(begin);
    for (const OperationPtr& earlier : captured.after)
      copy->after.push_back(copies.at(earlier.get()));
    copy->stream = branch.number;
    copy->count = ++branch.count;
    scheduler_.add(copy);
    copies.emplace(&captured, copy);
    all.push_back(std::move(copy));
  }
  graph.last_launch = push(stream, "graph's end", nullptr, std::move(all));
}

Stream* Streams::forbidding_capture() {
  for (const auto& stream : streams_) {
    if (!stream->began_capture) continue;
    if (stream->capture_mode == CaptureMode::everybody ||
        (stream->capture_mode == CaptureMode::same_thread &&
         stream->capture_thread == std::this_thread::get_id()))
      return stream.get();
  }
  return nullptr;
}

Stream* Streams::capture_with_default(int device) {
  for (const auto& stream : streams_)
    if (stream->capture && stream->joins_default && stream->device == device) return stream.get();
  return nullptr;
}

std::vector<Stream*> Streams::all() {
  std::vector<Stream*> found;
  for (const auto& stream : streams_) found.push_back(stream.get());
  return found;
}

std::vector<Stream*> Streams::capturing(const Graph& graph) {
  std::vector<Stream*> found;
  for (const auto& stream : streams_)
    if (stream->capture.get() == &graph) found.push_back(stream.get());
  return found;
}

}  // namespace ptbench::emulator
