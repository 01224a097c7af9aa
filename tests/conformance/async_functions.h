// Functions of the conformance tests that return futures or tasks, and their helpers.
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

/// Returns x + y, computed by `other`.
Future<Tensor> add_later(Scope& scope, const NodeName& other, const Tensor& x, double y);
/// Returns x + y, computed by `third` at the request of `other`.
Future<Tensor> add_later_by(Scope& scope, const NodeName& other, const NodeName& third, const Tensor& x, double y);
/// Returns x + y, computed by `other`, with y added twice more in callbacks.
Future<Tensor> add_thrice_later(Scope& scope, const NodeName& other, const Tensor& x, double y);
/// As add_thrice_later, but the last callback throws `text`.
Future<Tensor> fail_in_callback(Scope& scope, const NodeName& other, const std::string& text);
/// Returns the sum of x + 0, x + 1, ... x + (count - 1), each computed by `other`, all at once.
Future<Tensor> add_all_later(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count);
/// Returns x + 1, computed on a thread of its own long after this function returned.
Future<std::int64_t> next_from_thread(Scope& scope, std::int64_t x);
Future<Tensor> throw_before_later(Scope& scope);
/// Returns a default-constructed future.
Future<Tensor> nothing_later(Scope& scope);
/// Fails on `other` with `text`.
Future<void> fail_later_on(Scope& scope, const NodeName& other, const std::string& text);
/// Begins a call to `other` that ends only with one of the two nodes. Appends its error's code and peer to the file.
void note_end_of_call_to(Scope& scope, const NodeName& other, const std::string& file);

/// Returns the sum of x + 0, x + 1, ..., each computed by `other`, one after the other.
Task<Tensor> add_in_turn(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count);
/// As add_in_turn, by a task within the task.
Task<Tensor> add_in_turn_inside(Scope& scope, NodeName other, Tensor x, std::int32_t count);
/// Waits for a call to `other`, then throws `text`.
Task<std::int64_t> throw_after_wait(Scope& scope, NodeName other, std::string text);
Task<void> wait_for_square_on(Scope& scope, NodeName other);
/// Calls itself on `other` and back until `depth` is used up; returns the number of nested calls made.
Task<std::int32_t> ping_pong_task(Scope& scope, NodeName other, std::int32_t depth);

/// Opens when `wanted` callers have arrived. All callers share one future.
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

/// An object whose member functions suspend.
class Accumulator {
 public:
  explicit Accumulator(std::int64_t start) : value_(start) {}

  static Future<Tensor> add_by(Scope& scope, const NodeName& other, const Tensor& x, double y) {
    return add_later(scope, other, x, y);
  }

  /// Adds the square of x, computed by `other`, regardless of concurrent calls. Returns the sum.
  Task<std::int64_t> add_square(Scope& scope, NodeName other, std::int64_t x);
  Future<std::int64_t> add_square_later(Scope& scope, const NodeName& other, std::int64_t x);
  /// Makes `other` add the square of x to this object. Returns the value after that.
  Task<std::int64_t> added_by(Scope& scope, NodeName other, RRef<Accumulator> self, std::int64_t x);
  /// Adds 1 `times` times by a read and a write around each wait: wrong if another call runs between them.
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
/// `times` times: fetches the weights and pushes an update of `step`. Returns the last fetched weights.
Tensor train_model(Scope& scope, const RRef<Model>& model, double step, std::int32_t times);

/// Holds references to other Holders, and so may hold itself.
class Holder {
 public:
  Holder() = default;
  void hold(const RRef<Holder>& other) { held_.push_back(other); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(held_.size()); }

 private:
  std::vector<RRef<Holder>> held_;
};

/// Returns the elements above zero, in their order.
Tensor positive_of(const Tensor& x);

NodeName caller_of(Scope& scope);
/// Returns the number of pool threads of this node that are blocked in a wait.
std::int64_t waiting_threads(Scope& scope);

/// Returns the counter's value after one increment of this copy.
std::int64_t value_after_increment(Counter counter);
/// Multiplies the 100 x 100 identity by itself `times` times. Returns its trace: 100.
double heavy_math(std::int32_t times);
/// Returns the trace id that `other` sees.
std::uint64_t trace_on(Scope& scope, const NodeName& other);
std::uint64_t trace_here(Scope& scope);

std::int64_t power(std::int64_t base, std::int32_t exponent, std::int64_t modulus);
inline constexpr auto power_fn = function(&power).defaults(2, std::int64_t{1'000});

std::int64_t twice(std::int64_t x);
std::string twice(const std::string& x);

/// Returns `everywhere` with all of these functions added.
[[nodiscard]] FunctionRegistry with_async_functions(const FunctionRegistry& everywhere);

}  // namespace troupe::testing
