#include "src/comm/gloo/gloo_library.h"

#include <fmt/format.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/comm/gloo/abortable_context.h"
#include "src/comm/rank_sockets.h"

namespace ptbench::over_gloo {
namespace {

// gloo ends the process where more arrives than was expected: so what differs in length has another
// name, and its ranks wait for each other until one of them is late.

/// Of a collective: of those before it, of which a rank can be ahead of others, and of its length.
std::uint32_t tag_of(std::uint32_t number, Bytes bytes) {
  constexpr std::uint32_t kGolden = 2654435769U;  // 2^32 over the golden ratio
  return (number & 0xfffU) << 20U | static_cast<std::uint32_t>(bytes * kGolden) >> 12U;
}

/// Of a message. Slots of collectives have something in the highest byte.
std::uint64_t slot_of(std::uint64_t number, Bytes bytes) {
  constexpr unsigned kLengthBits = 44;
  return (number & 0xfffU) << kLengthBits | (bytes & ((std::uint64_t{1} << kLengthBits) - 1));
}

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

class GlooMessage final : public LibraryMessage {
 public:
  GlooMessage(Buffer buffer, bool is_send) : buffer_(std::move(buffer)), is_send_(is_send) {}
  void finish(Communicator::Timeout timeout) override {
    (void)(is_send_ ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout));
  }

 private:
  Buffer buffer_;
  bool is_send_;
};

class GlooLibrary final : public GroupLibrary {
 public:
  explicit GlooLibrary(std::shared_ptr<AbortableContext> context) : context_(std::move(context)) {}

  void all_reduce(std::span<float> values) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    prepare(options, values.size_bytes());
    gloo::allreduce(options);
  }
  void reduce(std::span<float> values, Size root) override {
    gloo::ReduceOptions options(context_);
    // On others gloo sums into it too.
    if (context_->rank != root) scratch_.resize(std::max(scratch_.size(), values.size()));
    float* sums = context_->rank == root ? values.data() : scratch_.data();
    options.setInput(values.data(), values.size());
    options.setOutput(sums, values.size());
    options.setRoot(static_cast<int>(root));
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    prepare(options, values.size_bytes());
    gloo::reduce(options);
  }
  void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                  std::span<std::byte> received, Bytes received_bytes) override {
    gloo::AlltoallvOptions options(context_);
    options.setInput(chars_of(sent),
                     std::vector<std::int64_t>(sent_bytes.begin(), sent_bytes.end()));
    options.setOutput(
        chars_of(received),
        std::vector<std::int64_t>(sent_bytes.size(), static_cast<std::int64_t>(received_bytes)));
    prepare(options, sent.size());
    gloo::alltoallv(options);
  }
  void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) override {
    gloo::AllgathervOptions options(context_);
    options.setOutput(chars_of(whole), std::vector<std::size_t>(parts.begin(), parts.end()));
    prepare(options, whole.size());
    gloo::allgatherv(options);
  }
  void gather(std::span<std::byte> part, std::span<std::byte> whole, Size root) override {
    gloo::GatherOptions options(context_);
    options.setInput(chars_of(part), part.size());
    if (context_->rank == root) options.setOutput(chars_of(whole), whole.size());
    options.setRoot(static_cast<int>(root));
    prepare(options, part.size());
    gloo::gather(options);
  }
  void broadcast(std::span<std::byte> bytes, Size root) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(chars_of(bytes), bytes.size());
    options.setRoot(static_cast<int>(root));
    prepare(options, bytes.size());
    gloo::broadcast(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    prepare(options, 0);
    gloo::barrier(options);
  }

  std::unique_ptr<LibraryMessage> send(std::span<const std::byte> bytes, Size to,
                                       std::uint64_t number) override {
    Buffer buffer =
        context_->createUnboundBuffer(const_cast<std::byte*>(bytes.data()), bytes.size());
    buffer->send(static_cast<int>(to), slot_of(number, bytes.size()));
    return std::make_unique<GlooMessage>(std::move(buffer), true);
  }
  std::unique_ptr<LibraryMessage> receive(std::span<std::byte> bytes, Size from,
                                          std::uint64_t number) override {
    Buffer buffer = context_->createUnboundBuffer(bytes.data(), bytes.size());
    buffer->recv(static_cast<int>(from), slot_of(number, bytes.size()));
    return std::make_unique<GlooMessage>(std::move(buffer), false);
  }

  void abort() noexcept override { context_->abort(); }

 private:
  static char* chars_of(std::span<std::byte> bytes) {
    return reinterpret_cast<char*>(bytes.data());
  }

  /// `bytes`: of the whole, on every rank. Nobody waits longer here than the longest deadline;
  /// shorter ones are the caller's, who aborts.
  template <class Options>
  void prepare(Options& options, Bytes bytes) {
    options.setTag(tag_of(++started_, bytes));
    options.setTimeout(Communicator::kLongWork);
  }

  std::shared_ptr<AbortableContext> context_;
  std::vector<float> scratch_;
  std::uint32_t started_ = 0;
};

namespace tcp = gloo::transport::tcp;

tcp::attr attributes_at(const std::string& interface, const std::string& address) {
  tcp::attr attributes(address.empty() ? "127.0.0.1" : address.c_str());
  attributes.iface = interface;
  return tcp::CreateDeviceAttr(attributes);
}

InterfaceAddress address_of(const tcp::attr& attributes) {
  return {.bytes = attributes.ai_addr, .length = static_cast<socklen_t>(attributes.ai_addrlen)};
}

/// Ranks are connected elsewhere, and yet gloo listens: for a moment for each of its pairs, or as
/// long as it lives. So that nobody finds it, at an address of loopback that nobody is told.
std::shared_ptr<tcp::Device> device_beside(const tcp::attr& attributes) {
  std::random_device random;
  const auto byte = [&] { return 1 + random() % 254; };
  tcp::attr hidden(fmt::format("127.{}.{}.{}", byte(), byte(), byte()).c_str());
  try {
    return std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(hidden));
  } catch (const std::exception&) {  // a host without loopback
    return std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(attributes));
  }
}

/// Says what gloo throws.
Error gloo_error(const std::exception& error, const std::string& way) {
  return run_error(fmt::format("gloo: {}", error.what()),
                   fmt::format("see that programs may connect to each other by {}",
                               way.empty() ? "the loopback interface" : way));
}

}  // namespace

GroupLibraryMaker library_maker(const std::string& interface, const std::string& address,
                                Communicator::Timeout timeout) {
  // gloo writes to sockets whose other end may just have died, which is an error to it.
  (void)std::signal(SIGPIPE, SIG_IGN);
  const std::string way = interface.empty() ? address : interface;
  InterfaceAddress own;
  std::shared_ptr<tcp::Device> device;
  try {
    const tcp::attr attributes = attributes_at(interface, address);
    own = address_of(attributes);
    device = device_beside(attributes);
  } catch (const std::exception& error) {
    throw gloo_error(error, way);
  }
  return
      [=](Communicator& host, const std::vector<Size>& members) -> std::unique_ptr<GroupLibrary> {
        try {
          auto context = std::make_shared<AbortableContext>(static_cast<int>(host.rank()),
                                                            static_cast<int>(members.size()));
          context->setTimeout(timeout);
          context->connect(device, connect_ranks(host, own, timeout));
          return std::make_unique<GlooLibrary>(std::move(context));
        } catch (const Error&) {
          throw;
        } catch (const std::exception& error) {
          throw gloo_error(error, way);
        }
      };
}

}  // namespace ptbench::over_gloo
