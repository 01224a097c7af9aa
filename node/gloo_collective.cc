#include "node/gloo_collective.h"

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "actors/collectives/collectives.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/core/strand.h"

namespace troupe {
namespace {

using detail::CollectiveMember;

[[noreturn]] void refuse(const char* what) {
  throw std::logic_error(fmt::format("[gloo] this transport has no {}", what));
}

/// Represents a connection where an algorithm checks that there is one.
class Pair final : public gloo::transport::Pair {
 public:
  const gloo::transport::Address& address() const override { refuse("addresses"); }
  void connect(const std::vector<char>&) override { refuse("connections"); }
  void close() override {}
  void setSync(bool, bool) override { refuse("modes"); }
  std::unique_ptr<gloo::transport::Buffer> createSendBuffer(int, void*, size_t) override { refuse("bound buffers"); }
  std::unique_ptr<gloo::transport::Buffer> createRecvBuffer(int, void*, size_t) override { refuse("bound buffers"); }
  void send(gloo::transport::UnboundBuffer*, uint64_t, size_t, size_t) override { refuse("connections"); }
  void recv(gloo::transport::UnboundBuffer*, uint64_t, size_t, size_t) override { refuse("connections"); }
};

/// Memory that an algorithm sends from and receives into. Waits end in the order of the parts they wait for; Gloo's own
/// time limits are ignored, since the operation has the scope's. Belongs to the operation's thread.
class Buffer final : public gloo::transport::UnboundBuffer {
 public:
  Buffer(CollectiveMember& member, void* memory, size_t bytes) : UnboundBuffer(memory, bytes), member_(member) {}

  void send(int to, uint64_t slot, size_t offset, size_t nbytes) override {
    const size_t length = nbytes == kUnspecifiedByteCount ? size - offset : nbytes;
    const std::shared_ptr<std::byte[]> copy(new std::byte[length]);  // the algorithm overwrites its buffer
    if (length > 0) std::memcpy(copy.get(), at(offset), length);
    sent_.push_back(member_.send(static_cast<size_t>(to), slot, {{copy.get(), length}, copy}));
  }

  void recv(int from, uint64_t slot, size_t offset, size_t nbytes) override {
    const size_t length = nbytes == kUnspecifiedByteCount ? size - offset : nbytes;
    wanted_.push_back({member_.want(static_cast<size_t>(from), slot), offset, length});
  }
  void recv(std::vector<int>, uint64_t, size_t, size_t) override { refuse("reception from any sender"); }

  bool waitRecv(int* from, std::chrono::milliseconds) override {
    const Place place = wanted_.front();
    wanted_.pop_front();
    const Frame frame = member_.receive(place.wanted);
    if (frame.bytes.size() != place.length) {
      throw std::runtime_error(fmt::format("{} bytes arrived instead of {}", frame.bytes.size(), place.length));
    }
    if (place.length > 0) std::memcpy(at(place.offset), frame.bytes.data(), place.length);
    if (from != nullptr) *from = static_cast<int>(place.wanted.from);
    return true;
  }

  bool waitSend(int*, std::chrono::milliseconds) override {
    const CollectiveMember::Sent sent = sent_.front();
    sent_.pop_front();
    member_.wait(sent);
    return true;
  }

  void abortWaitRecv() override { refuse("aborted waits"); }
  void abortWaitSend() override { refuse("aborted waits"); }

 private:
  struct Place {
    CollectiveMember::Wanted wanted;
    size_t offset = 0;
    size_t length = 0;
  };

  [[nodiscard]] std::byte* at(size_t offset) const { return static_cast<std::byte*>(ptr) + offset; }

  CollectiveMember& member_;
  std::deque<Place> wanted_;
  std::deque<CollectiveMember::Sent> sent_;
};

class Transport final : public gloo::transport::Context {
 public:
  explicit Transport(CollectiveMember& member)
      : gloo::transport::Context(static_cast<int>(member.rank()), static_cast<int>(member.names().size())),
        member_(member) {
    for (auto& pair : pairs_) pair = std::make_unique<Pair>();
  }
  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { refuse("connections"); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* memory, size_t bytes) override {
    return std::make_unique<Buffer>(member_, memory, bytes);
  }

 private:
  CollectiveMember& member_;
};

class Context final : public gloo::Context {
 public:
  explicit Context(CollectiveMember& member)
      : gloo::Context(static_cast<int>(member.rank()), static_cast<int>(member.names().size())) {
    transportContext_ = std::make_shared<Transport>(member);
  }
};

using Combine = void (*)(void*, const void*, const void*, size_t);

/// The smaller of both, or the larger: NaN if either is NaN, as minimum() and maximum(). Gloo's own lose it or keep it
/// depending on which of the two it is.
template <class T, class Before>
void select(void* result, const void* first, const void* second, size_t count) {
  const auto* const a = static_cast<const T*>(first);
  const auto* const b = static_cast<const T*>(second);
  auto* const out = static_cast<T*>(result);
  for (size_t i = 0; i < count; ++i) {
    const T x = a[i];
    const T y = b[i];
    out[i] = (x != x || Before()(x, y)) ? x : y;
  }
}

template <class T>
Combine combine_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::min: return &select<T, std::less<T>>;
    case ReduceOp::max: return &select<T, std::greater<T>>;
    case ReduceOp::prod: return &gloo::product<T>;
    case ReduceOp::sum:
    case ReduceOp::mean: break;
  }
  return &gloo::sum<T>;
}

/// Returns a copy of `value` in the dtype of the reduction: Gloo has no bf16, and would round an f16 in every step.
Tensor reducible_copy(const Tensor& value) {
  const DType dtype = is_floating(value.dtype()) ? compute_dtype(value.dtype()) : value.dtype();
  return dtype == value.dtype() ? value.clone() : value.to(dtype);
}

/// Sets `options` to an in-place reduction of `value`, a result of reducible_copy.
template <class Options>
void combine_in(Tensor& value, ReduceOp op, Options& options) {
  dispatch(value.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      options.setOutput(reinterpret_cast<T*>(value.mutable_bytes()), static_cast<size_t>(value.numel()));
      options.setReduceFunction(combine_of<T>(op));
    }
  });
}

/// Returns the description on which all members must agree: "all_reduce sum of f32 (2, 3)".
std::string description(const std::string& operation, const Tensor& value) {
  return fmt::format("{} of {} {}", operation, name_of(value.dtype()), to_string(value.shape()));
}

[[noreturn]] void refuse_argument(const CollectiveMember& member, std::string message) {
  throw RemoteError(member.node().error(ErrorCode::bad_argument, member.node().name(), {}, std::move(message)));
}

void require_reducible(const CollectiveMember& member, const Tensor& value, ReduceOp op) {
  if (value.dtype() == DType::boolean) refuse_argument(member, "booleans are not reduced");
  if (op == ReduceOp::mean && !is_floating(value.dtype())) {
    refuse_argument(member, fmt::format("the mean needs a floating dtype, not {}", name_of(value.dtype())));
  }
}

/// Returns the bytes of `value`, for an operation that only reads them. Gloo's interface has no const.
std::byte* read_only(const Tensor& value) { return const_cast<std::byte*>(value.bytes()); }

void divide(Tensor& value, std::size_t by) {
  dispatch_floating("mean", value.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (T& element : value.mutable_data<T>()) element /= static_cast<T>(by);
  });
}

/// The state that outlives the handle: operations on the pool use it.
struct Engine {
  explicit Engine(std::shared_ptr<CollectiveMember> m)
      : member(std::move(m)),
        context(std::make_shared<Context>(*member)),
        strand(member->node().future_home().executor, "collective") {}

  /// Runs `body` in its turn, unless `value` is empty. Refuses a `value` that is not on the CPU. The body takes the
  /// memory of the result: all members hear of it if there is none.
  void carry_out(const Scope& scope, std::uint64_t turn, const std::string& operation, const std::string& what,
                 const Tensor* value, const std::function<void()>& body) const {
    member->carry_out(scope, turn, operation, what, [&] {
      if (value != nullptr && value->device() != Device::cpu()) {
        refuse_argument(*member,
                        fmt::format("tensors of collectives are on the CPU, not on {}", to_string(value->device())));
      }
      if (value == nullptr || value->numel() > 0) body();
    });
  }

  [[nodiscard]] Tensor all_reduce(const Scope& scope, std::uint64_t turn, const Tensor& value, ReduceOp op) const {
    Tensor result;
    carry_out(scope, turn, "all_reduce", description(fmt::format("all_reduce {}", name_of(op)), value), &value, [&] {
      require_reducible(*member, value, op);
      result = reducible_copy(value);
      gloo::AllreduceOptions options(context);
      combine_in(result, op, options);
      gloo::allreduce(options);
      if (op == ReduceOp::mean) divide(result, member->names().size());
      result = result.to(value.dtype());
    });
    return result.defined() ? result : value.clone();
  }

  /// The result is undefined on other members than `to`, of rank `root`.
  [[nodiscard]] Tensor reduce(const Scope& scope, std::uint64_t turn, const NodeName& to, const Tensor& value,
                              ReduceOp op) const {
    const int root = rank_of("reduce", to);
    const bool here = to == member->node().name();
    Tensor result;
    const std::string what = description(fmt::format("reduce {} to {}", name_of(op), to), value);
    carry_out(scope, turn, "reduce", what, &value, [&] {
      require_reducible(*member, value, op);
      result = reducible_copy(value);
      gloo::ReduceOptions options(context);
      combine_in(result, op, options);
      options.setRoot(root);
      gloo::reduce(options);
      if (here && op == ReduceOp::mean) divide(result, member->names().size());
      result = result.to(value.dtype());
    });
    if (!here) return {};
    return result.defined() ? result : value.clone();
  }

  [[nodiscard]] Tensor broadcast(const Scope& scope, std::uint64_t turn, const NodeName& from,
                                 const Tensor& value) const {
    const int root = rank_of("broadcast", from);
    const bool here = from == member->node().name();
    Tensor result;
    const std::string what = description(fmt::format("broadcast from {}", from), value);
    carry_out(scope, turn, "broadcast", what, &value, [&] {
      result = here ? value.clone() : Tensor::empty(value.shape(), value.dtype());
      gloo::BroadcastOptions options(context);
      options.setOutput(reinterpret_cast<std::uint8_t*>(result.mutable_bytes()), result.nbytes());
      options.setRoot(root);
      gloo::broadcast(options);
    });
    return result.defined() ? result : value.clone();
  }

  [[nodiscard]] std::vector<Tensor> all_gather(const Scope& scope, std::uint64_t turn, const Tensor& value) const {
    const auto count = static_cast<std::int64_t>(member->names().size());
    Tensor together;
    carry_out(scope, turn, "all_gather", description("all_gather", value), &value, [&] {
      together = Tensor::empty({count, value.numel()}, value.dtype());
      const Tensor own = value.contiguous();
      gloo::AllgatherOptions options(context);
      options.setInput(reinterpret_cast<std::uint8_t*>(read_only(own)), own.nbytes());
      options.setOutput(reinterpret_cast<std::uint8_t*>(together.mutable_bytes()), together.nbytes());
      gloo::allgather(options);
    });
    if (!together.defined()) together = Tensor::empty({count, 0}, value.dtype());
    std::vector<Tensor> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(together.select(0, i).view(value.shape()));
    return values;
  }

  /// Throws std::invalid_argument `[reduce] q is no member of the collective`.
  [[nodiscard]] int rank_of(const char* operation, const NodeName& name) const {
    const std::vector<NodeName>& names = member->names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw std::invalid_argument(fmt::format("[{}] {} is no member of the collective", operation, name));
    return static_cast<int>(found - names.begin());
  }

  /// An operation on the pool.
  struct Later {
    std::function<void(std::uint64_t turn)> carry_out;  ///< completes the promise
    std::function<void(const Error& refused)> refuse;   ///< likewise
    std::uint64_t turn = 0;
  };

  /// Gives it the next turn. The strand runs one job for each: it performs the operation, or refuses it. Throws
  /// std::bad_alloc; then it has no turn.
  void add_later(Later operation) {
    const std::lock_guard lock(mutex);
    later.push_back(std::move(operation));
    later.back().turn = member->draw_turn();
  }

  void carry_out_next() {
    const Later next = take_next();
    try {
      next.carry_out(next.turn);
    } catch (const std::exception&) {  // the strand would refuse the operation after this one
      refuse(next, detail::own_failure(member->node(), "collective"));
    }
  }

  void refuse_next(const Error& refused) { refuse(take_next(), refused); }

  void refuse(const Later& operation, const Error& why) const {
    member->fail(copy_of(why), CollectiveMember::Tell::others);
    operation.refuse(why);
  }

  [[nodiscard]] Later take_next() {
    const std::lock_guard lock(mutex);
    Later next = std::move(later.front());
    later.pop_front();
    return next;
  }

  const std::shared_ptr<CollectiveMember> member;
  const std::shared_ptr<gloo::Context> context;
  detail::Strand strand;  // runs `later`
  std::mutex mutex;
  std::deque<Later> later;  // guarded by mutex; in the order of their turns
};

class GlooCollective final : public Collective {
 public:
  explicit GlooCollective(std::shared_ptr<CollectiveMember> member)
      : engine_(std::make_shared<Engine>(std::move(member))) {}
  ~GlooCollective() override { member().leave(); }
  GlooCollective(const GlooCollective&) = delete;
  GlooCollective& operator=(const GlooCollective&) = delete;

  [[nodiscard]] const std::vector<NodeName>& names() const override { return member().names(); }
  [[nodiscard]] std::size_t rank() const override { return member().rank(); }

  [[nodiscard]] Tensor all_reduce(const Scope& scope, const Tensor& value, ReduceOp op) override {
    value.require_defined("all_reduce");
    return now("all_reduce", [&](std::uint64_t turn) { return engine_->all_reduce(scope, turn, value, op); });
  }
  [[nodiscard]] Future<Tensor> all_reduce_async(const Scope& scope, const Tensor& value, ReduceOp op) override {
    value.require_defined("all_reduce");
    return later<Tensor>(
        scope, [=, engine = engine_](std::uint64_t turn) { return engine->all_reduce(scope, turn, value, op); });
  }

  [[nodiscard]] Tensor reduce(const Scope& scope, const NodeName& to, const Tensor& value, ReduceOp op) override {
    require(value, "reduce", to);
    return now("reduce", [&](std::uint64_t turn) { return engine_->reduce(scope, turn, to, value, op); });
  }
  [[nodiscard]] Future<Tensor> reduce_async(const Scope& scope, const NodeName& to, const Tensor& value,
                                            ReduceOp op) override {
    require(value, "reduce", to);
    return later<Tensor>(
        scope, [=, engine = engine_](std::uint64_t turn) { return engine->reduce(scope, turn, to, value, op); });
  }

  [[nodiscard]] Tensor broadcast(const Scope& scope, const NodeName& from, const Tensor& value) override {
    require(value, "broadcast", from);
    return now("broadcast", [&](std::uint64_t turn) { return engine_->broadcast(scope, turn, from, value); });
  }
  [[nodiscard]] Future<Tensor> broadcast_async(const Scope& scope, const NodeName& from, const Tensor& value) override {
    require(value, "broadcast", from);
    return later<Tensor>(
        scope, [=, engine = engine_](std::uint64_t turn) { return engine->broadcast(scope, turn, from, value); });
  }

  [[nodiscard]] std::vector<Tensor> all_gather(const Scope& scope, const Tensor& value) override {
    value.require_defined("all_gather");
    return now("all_gather", [&](std::uint64_t turn) { return engine_->all_gather(scope, turn, value); });
  }
  [[nodiscard]] Future<std::vector<Tensor>> all_gather_async(const Scope& scope, const Tensor& value) override {
    value.require_defined("all_gather");
    return later<std::vector<Tensor>>(
        scope, [=, engine = engine_](std::uint64_t turn) { return engine->all_gather(scope, turn, value); });
  }

  void barrier(const Scope& scope) override {
    now("barrier", [&](std::uint64_t turn) {
      engine_->carry_out(scope, turn, "barrier", "barrier", nullptr, [&] {
        gloo::BarrierOptions options(engine_->context);
        gloo::barrier(options);
      });
    });
  }

  void fail(const std::string& why) override {
    const detail::NodeCore& node = member().node();
    member().fail(node.error(ErrorCode::cancelled, node.name(), "collective", why), CollectiveMember::Tell::others);
  }

 private:
  [[nodiscard]] CollectiveMember& member() const { return *engine_->member; }

  void require(const Tensor& value, const char* operation, const NodeName& member) const {
    value.require_defined(operation);
    static_cast<void>(engine_->rank_of(operation, member));  // before the operation takes a turn
  }

  /// Performs `operation(turn)` on this thread, in its turn. What it throws before or after its turn breaks the
  /// collective, too: the others wait for this member. Throws RemoteError.
  template <class Operation>
  std::invoke_result_t<Operation, std::uint64_t> now(const char* name, const Operation& operation) const {
    const std::uint64_t turn = member().draw_turn();
    try {
      return operation(turn);
    } catch (const RemoteError&) {
      throw;
    } catch (const std::exception&) {
      Error why = detail::own_failure(member().node(), name);
      member().fail(copy_of(why), CollectiveMember::Tell::others);
      throw RemoteError(std::move(why));
    }
  }

  /// Performs `operation(turn)` on the pool, in its turn. Its RemoteError is that of the future. Throws std::bad_alloc;
  /// then it has taken no turn.
  template <class T, class Operation>
  [[nodiscard]] Future<T> later(const Scope& scope, const Operation& operation) const {
    const Promise<T> promise(scope);
    engine_->add_later({.carry_out =
                            [promise, operation](std::uint64_t turn) {
                              try {
                                promise.complete(operation(turn));
                              } catch (const RemoteError& error) {
                                promise.complete(error.error());
                              }
                            },
                        .refuse = [promise](const Error& refused) { promise.complete(copy_of(refused)); }});
    try {
      engine_->strand.run([engine = engine_] { engine->carry_out_next(); },
                          [engine = engine_](const Error& refused) { engine->refuse_next(refused); });
    } catch (const std::bad_alloc&) {  // the turn is drawn: the others wait for this member
      engine_->refuse_next(detail::own_failure(member().node(), "collective"));
    }
    return promise.future();
  }

  const std::shared_ptr<Engine> engine_;
};

}  // namespace

std::shared_ptr<Collective> gloo_collective(const Scope& scope, const Group& group) {
  return std::make_shared<GlooCollective>(scope.state().node->collectives().form(scope, group));
}

}  // namespace troupe
