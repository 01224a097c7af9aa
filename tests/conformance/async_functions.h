// Functions of the conformance tests whose result comes later, and what they need.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/calls/callee.h"
#include "actors/function_registry.h"
#include "actors/future.h"
#include "actors/rref.h"
#include "actors/task.h"
#include "tensor/tensor.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// x + y, by `other`.
Future<Tensor> add_later(Scope& scope, const NodeName& other, const Tensor& x, double y);
/// The same by `third`, whom `other` asks.
Future<Tensor> add_later_by(Scope& scope, const NodeName& other, const NodeName& third, const Tensor& x, double y);
/// x + y by `other`, + y twice more by callbacks.
Future<Tensor> add_thrice_later(Scope& scope, const NodeName& other, const Tensor& x, double y);
/// As add_thrice_later; its last callback throws `text`.
Future<Tensor> fail_in_callback(Scope& scope, const NodeName& other, const std::string& text);
/// The sum of x + 0, x + 1, ... x + (count - 1), each by `other`, all at once.
Future<Tensor> add_all_later(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count);
/// x + 1, from a thread of its own, when this function has long returned.
Future<std::int64_t> next_from_thread(Scope& scope, std::int64_t x);
Future<Tensor> throw_before_later(Scope& scope);
/// Returns a default-constructed future.
Future<Tensor> nothing_later(Scope& scope);
/// Fails on `other` with `text`.
Future<void> fail_later_on(Scope& scope, const NodeName& other, const std::string& text);

/// The sum of x + 0, x + 1, ..., each by `other`, one after the other.
Task<Tensor> add_in_turn(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count);
/// As add_in_turn, by a task within the task.
Task<Tensor> add_in_turn_inside(Scope& scope, NodeName other, Tensor x, std::int32_t count);
/// Waits for a call to `other`, then throws `text`.
Task<std::int64_t> throw_after_wait(Scope& scope, NodeName other, std::string text);
Task<void> wait_for_square_on(Scope& scope, NodeName other);
/// Calls itself on `other` and back until `depth` is used up; returns the number of nested calls made.
Task<std::int32_t> ping_pong_task(Scope& scope, NodeName other, std::int32_t depth);

/// Opens when so many have arrived: all get the same future.
class Gate {
 public:
  explicit Gate(std::int64_t wanted) : wanted_(wanted) {}

  /// Completes with the number of arrivals.
  Future<std::int64_t> arrive(Scope& scope);
  [[nodiscard]] std::int64_t arrived() const { return arrived_; }

 private:
  std::int64_t wanted_;
  std::int64_t arrived_ = 0;
  std::optional<Promise<std::int64_t>> open_;
};

/// An object whose member functions wait.
class Accumulator {
 public:
  explicit Accumulator(std::int64_t start) : value_(start) {}

  static Future<Tensor> add_by(Scope& scope, const NodeName& other, const Tensor& x, double y) {
    return add_later(scope, other, x, y);
  }

  /// Adds the square of x, computed by `other`, without a look at what others do meanwhile; returns the sum.
  Task<std::int64_t> add_square(Scope& scope, NodeName other, std::int64_t x);
  Future<std::int64_t> add_square_later(Scope& scope, const NodeName& other, std::int64_t x);
  /// Has `other` add the square of x to this very object, and returns the value after that.
  Task<std::int64_t> added_by(Scope& scope, NodeName other, RRef<Accumulator> self, std::int64_t x);
  /// Writes that are wrong if anybody else runs in between two waits.
  Task<std::int64_t> count_up(Scope& scope, NodeName other, std::int32_t times);
  [[nodiscard]] std::int64_t value() const { return value_; }

 private:
  std::int64_t value_;
};
std::int64_t add_square_to(Scope& scope, const RRef<Accumulator>& to, const NodeName& other, std::int64_t x);

/// A parameter server of one tensor.
class Model {
 public:
  explicit Model(std::int64_t size);
  [[nodiscard]] Tensor weights() const { return weights_; }
  void push(const Tensor& update);

 private:
  Tensor weights_;
};
/// Fetches the weights and pushes an update of `step`, so often; returns the weights that it saw last.
Tensor train_model(Scope& scope, const RRef<Model>& model, double step, std::int32_t times);

/// Holds references to others of its kind, and so may keep itself.
class Holder {
 public:
  Holder() = default;
  void hold(const RRef<Holder>& other) { held_.push_back(other); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(held_.size()); }

 private:
  std::vector<RRef<Holder>> held_;
};

/// The elements above zero, in their order.
Tensor positive_of(const Tensor& x);

NodeName caller_of(Scope& scope);
/// Pool threads of this node that are blocked in a wait.
std::int64_t waiting_threads(Scope& scope);

/// The counter's value after one increment of this copy.
std::int64_t value_after_increment(Counter counter);
/// The trace of the identity of 100 x 100 multiplied with itself so often: 100.
double heavy_math(std::int32_t times);
/// The trace id that `other` sees.
std::uint64_t trace_on(Scope& scope, const NodeName& other);
std::uint64_t trace_here(Scope& scope);

std::int64_t power(std::int64_t base, std::int32_t exponent, std::int64_t modulus);
inline constexpr auto power_fn = function(&power).defaults(2, std::int64_t{1'000});

std::int64_t twice(std::int64_t x);
std::string twice(const std::string& x);

/// `everywhere` and all of these.
[[nodiscard]] FunctionRegistry with_async_functions(const FunctionRegistry& everywhere);

}  // namespace troupe::testing
