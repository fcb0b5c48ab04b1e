#include "src/comm/gloo/gloo_library.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
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
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/gloo/abortable_context.h"
#include "src/comm/star/rank_sockets.h"

namespace ptbench::over_gloo {
namespace {

// gloo ends the process where more arrives than was expected: so what differs in length has another
// name, and its ranks wait for each other until one of them is late.

/// Tells a collective from those before it, since ranks can be ahead of others. Has its length.
std::uint32_t tag_of(std::uint32_t number, Bytes bytes) {
  constexpr std::uint32_t kGolden = 2654435769U;  // 2^32 over the golden ratio
  return (number & 0xfffU) << 20U | static_cast<std::uint32_t>(bytes * kGolden) >> 12U;
}

/// Of a step of a collective that is made of messages here: gloo's own have less in the highest
/// byte.
std::uint64_t slot_of_step(std::uint32_t tag, Size step) {
  constexpr std::uint64_t kOwn = 0x7f;
  constexpr unsigned kTagBits = 32;
  return kOwn << 56U | static_cast<std::uint64_t>(step) << kTagBits | tag;
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

/// Messages of one collective that are under way; such of no bytes are none.
class Messages {
 public:
  void receive(gloo::transport::UnboundBuffer& into, Size from, std::uint64_t slot, Bytes begin,
               Bytes bytes) {
    if (bytes == 0) return;
    into.recv(static_cast<int>(from), slot, begin, bytes);
    ++asked_for_;
  }
  void send(gloo::transport::UnboundBuffer& of, Size to, std::uint64_t slot, Bytes begin,
            Bytes bytes) {
    if (bytes == 0) return;
    of.send(static_cast<int>(to), slot, begin, bytes);
    ++sent_;
  }
  /// One that was asked for: of one rank the next.
  void await_one(gloo::transport::UnboundBuffer& into) {
    (void)into.waitRecv(Communicator::kLongWork);
    --asked_for_;
  }
  void finish(gloo::transport::UnboundBuffer& of, gloo::transport::UnboundBuffer& into) {
    while (asked_for_ > 0) await_one(into);
    for (; sent_ > 0; --sent_) (void)of.waitSend(Communicator::kLongWork);
  }

 private:
  int asked_for_ = 0;
  int sent_ = 0;
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
  /// Every rank asks for what it is to receive before it sends: a pair of gloo's has one queue each
  /// way, in which a question waits behind what is sent, and two would send after one another.
  void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                  std::span<std::byte> received, Bytes received_bytes) override {
    const Buffer from = buffer_of(sent);
    const Buffer to = buffer_of(received);
    const std::uint64_t slot = slot_of_step(tag_of(++started_, sent.size()), 0);
    Messages messages;
    for (Size place = 1; place < ranks(); ++place)
      messages.receive(*to, around(-place), slot,
                       static_cast<Bytes>(around(-place)) * received_bytes, received_bytes);
    std::vector<Bytes> begins(sent_bytes.size());
    std::exclusive_scan(sent_bytes.begin(), sent_bytes.end(), begins.begin(), Bytes{0});
    for (Size place = 1; place < ranks(); ++place) {
      const auto rank = static_cast<std::size_t>(around(place));
      messages.send(*from, around(place), slot, begins[rank], sent_bytes[rank]);
    }
    const auto own = static_cast<std::size_t>(context_->rank);
    std::ranges::copy(sent.subspan(begins[own], sent_bytes[own]),
                      received.subspan(own * received_bytes).begin());
    messages.finish(*from, *to);
  }
  /// A ring, asked for in the same way.
  void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) override {
    const Buffer buffer = buffer_of(whole);
    const std::uint32_t tag = tag_of(++started_, whole.size());
    std::vector<Bytes> begins(parts.size());
    std::exclusive_scan(parts.begin(), parts.end(), begins.begin(), Bytes{0});
    Messages messages;
    for (Size step = 0; step + 1 < ranks(); ++step) {
      const auto part = static_cast<std::size_t>(around(-1 - step));
      messages.receive(*buffer, around(-1), slot_of_step(tag, step), begins[part], parts[part]);
    }
    for (Size step = 0; step + 1 < ranks(); ++step) {
      const auto part = static_cast<std::size_t>(around(-step));
      if (step > 0 && parts[part] > 0) messages.await_one(*buffer);
      messages.send(*buffer, around(1), slot_of_step(tag, step), begins[part], parts[part]);
    }
    messages.finish(*buffer, *buffer);
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
  [[nodiscard]] Size ranks() const { return context_->size; }
  /// The rank so many places further round the ring.
  [[nodiscard]] Size around(Size places) const {
    return (context_->rank + places + ranks()) % ranks();
  }
  [[nodiscard]] Buffer buffer_of(std::span<std::byte> bytes) const {
    return context_->createUnboundBuffer(bytes.data(), bytes.size());
  }

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
                   fmt::format("make sure that programs can connect to each other over {}",
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
