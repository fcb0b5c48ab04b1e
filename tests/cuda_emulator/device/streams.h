#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/device/operation.h"
#include "tests/cuda_emulator/device/scheduler.h"

namespace ptbench::emulator {

/// What is being captured, or was.
struct Graph {
  std::vector<OperationPtr> operations;
  bool is_invalid = false;  ///< a call was made that cannot be captured
};

/// Whose calls a capture forbids, as cudaStreamCaptureMode.
enum class CaptureMode { everybody, same_thread, nobody };

struct Stream {
  U32 number = 0;
  int device = 0;
  bool joins_default = true;  ///< ordered with the device's default stream
  OperationPtr last;
  U32 count = 0;
  std::shared_ptr<Graph> capture;  ///< null: what is asked for is done
  OperationPtr last_captured;
  bool began_capture = false;
  CaptureMode capture_mode = CaptureMode::everybody;
  std::thread::id capture_thread;
};

struct Event {
  int device = 0;
  bool has_time = true;
  OperationPtr recorded;
};

/// A graph that can be launched: its operations on streams of its own.
struct ExecutableGraph {
  std::shared_ptr<const Graph> graph;
  std::vector<std::unique_ptr<Stream>> branches;  ///< one for each stream that was captured
  std::vector<std::size_t> branch_of;             ///< by operation
  OperationPtr last_launch;
};

/// The streams of all devices, and what they were asked to do.
class Streams {
 public:
  Streams(int devices, Scheduler& scheduler);

  Stream& create(int device, bool joins_default);
  /// False where there is no such stream.
  bool destroy(const void* handle);
  /// Null where there is none. The handle 0 (or cudaStreamLegacy) is the default stream of
  /// `device`.
  [[nodiscard]] Stream* find(const void* handle, int device);

  /// Gives a stream something to do, after `after` besides what it did before.
  OperationPtr push(Stream& stream, std::string what, std::function<void()> work,
                    std::vector<OperationPtr> after = {});
  /// The same, something that waits for others.
  OperationPtr push_attempt(Stream& stream, std::string what, MakeAttempt make_attempt);
  /// Everything on the graph's streams, after what `stream` did before.
  void launch(ExecutableGraph& graph, Stream& stream);
  [[nodiscard]] std::unique_ptr<ExecutableGraph> instantiate(
      const std::shared_ptr<const Graph>& graph);

  /// A capturing stream whose mode forbids unsafe calls of this thread; else null.
  [[nodiscard]] Stream* forbidding_capture();
  /// A capturing stream that is ordered with the default stream; else null.
  [[nodiscard]] Stream* capture_with_default(int device);
  [[nodiscard]] std::vector<Stream*> capturing(const Graph& graph);
  [[nodiscard]] std::vector<Stream*> all();
  /// Streams that were created and not destroyed.
  [[nodiscard]] std::size_t created() const;

 private:
  void add_default_order(const Stream& stream, Operation& operation);
  OperationPtr add(Stream& stream, const OperationPtr& operation);

  Scheduler& scheduler_;
  std::size_t devices_;
  std::vector<std::unique_ptr<Stream>> streams_;  ///< first the default stream of each device
  U32 next_number_ = 0;
};

}  // namespace ptbench::emulator
