#include "tests/conformance/async_functions.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/collect.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

Future<Tensor> add_later(Scope& scope, const NodeName& other, const Tensor& x, double y) {
  return scope.rpc_async(other, &testing::add, x, y);
}

Future<Tensor> add_later_by(Scope& scope, const NodeName& other, const NodeName& third, const Tensor& x, double y) {
  return scope.rpc_async(other, &add_later, third, x, y);
}

Future<Tensor> add_thrice_later(Scope& scope, const NodeName& other, const Tensor& x, double y) {
  const auto add_y = [y](const Tensor& sum) { return testing::add(sum, y); };
  return add_later(scope, other, x, y).then(add_y).then(add_y);
}

Future<Tensor> fail_in_callback(Scope& scope, const NodeName& other, const std::string& text) {
  return add_thrice_later(scope, other, ones({1}), 1.0).then([text](const Tensor&) -> Tensor {
    throw std::domain_error(text);
  });
}

Future<Tensor> add_all_later(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count) {
  std::vector<Future<Tensor>> parts;
  for (std::int32_t i = 0; i < count; ++i) parts.push_back(add_later(scope, other, x, i));
  return collect_all(parts).then([](const std::vector<Tensor>& sums) {
    Tensor total = sums.front();
    for (std::size_t i = 1; i < sums.size(); ++i) total = total + sums[i];
    return total;
  });
}

Future<std::int64_t> next_from_thread(Scope& scope, std::int64_t x) {
  const Promise<std::int64_t> promise(scope);
  std::thread([promise, x] {
    static_cast<void>(answer_after(20));
    promise.complete(x + 1);
  }).detach();
  return promise.future();
}

Future<Tensor> throw_before_later(Scope& /*scope*/) { throw std::domain_error("not even a future"); }
Future<Tensor> nothing_later(Scope& /*scope*/) { return {}; }

Future<void> fail_later_on(Scope& scope, const NodeName& other, const std::string& text) {
  return scope.rpc_async(other, &throw_text, text);
}

void note_end_of_call_to(Scope& scope, const NodeName& other, const std::string& file) {
  const Scope patient = scope.with({.deadline = Deadline::while_peer_lives()});
  patient.rpc_async(other, &wait_until_stopped).then([file](const Result<bool>& result) {
    std::ofstream(file, std::ios::app) << (result ? "none" : name_of(result.error().code)) << " "
                                       << (result ? NodeName() : result.error().peer) << "\n";
  });
}

Task<Tensor> add_in_turn(Scope& scope, const NodeName& other, const Tensor& x, std::int32_t count) {
  Tensor total = co_await add_later(scope, other, x, 0);
  for (std::int32_t i = 1; i < count; ++i) total = total + co_await add_later(scope, other, x, i);
  co_return total;
}

Task<Tensor> add_in_turn_inside(Scope& scope, NodeName other, Tensor x, std::int32_t count) {
  co_return co_await add_in_turn(scope, other, x, count);
}

Task<std::int64_t> throw_after_wait(Scope& scope, NodeName other, std::string text) {
  const std::int64_t squared = co_await scope.rpc_async(other, &square, 2);
  if (squared == 4) throw std::domain_error(text);
  co_return squared;
}

Task<void> wait_for_square_on(Scope& scope, NodeName other) {
  static_cast<void>(co_await scope.rpc_async(other, &square, 2));
}

Task<std::int32_t> ping_pong_task(Scope& scope, NodeName other, std::int32_t depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await scope.rpc_async(other, &ping_pong_task, scope.node_name(), depth - 1);
}

Future<std::int64_t> Gate::arrive(Scope& scope) {
  if (!open_) open_.emplace(scope);
  Future<std::int64_t> all = open_->future();
  if (++arrived_ == wanted_) open_->complete(arrived_);
  return all;
}

Task<std::int64_t> Accumulator::add_square(Scope& scope, NodeName other, std::int64_t x) {
  value_ += co_await scope.rpc_async(other, &square, x);
  co_return value_;
}

Future<std::int64_t> Accumulator::add_square_later(Scope& scope, const NodeName& other, std::int64_t x) {
  return scope.rpc_async(other, &square, x).then([before = value_](std::int64_t squared) { return before + squared; });
}

Task<std::int64_t> Accumulator::added_by(Scope& scope, NodeName other, RRef<Accumulator> self, std::int64_t x) {
  co_await scope.rpc_async(other, &add_square_to, self, other, x);
  co_return value_;
}

Task<std::int64_t> Accumulator::count_up(Scope& scope, NodeName other, std::int32_t times) {
  for (std::int32_t i = 0; i < times; ++i) {
    co_await scope.rpc_async(other, &nothing);
    const std::int64_t before = value_;
    std::this_thread::yield();
    value_ = before + 1;
  }
  co_return value_;
}

std::int64_t add_square_to(Scope& scope, const RRef<Accumulator>& to, const NodeName& other, std::int64_t x) {
  return to.rpc_sync(scope, &Accumulator::add_square, other, x);
}

Model::Model(std::int64_t size) : weights_(zeros({size})) {}

void Model::push(const Tensor& update) { weights_ = weights_ + update; }

Tensor train_model(Scope& scope, const RRef<Model>& model, double step, std::int32_t times) {
  for (std::int32_t i = 0; i < times; ++i) {
    const Tensor weights = model.rpc_sync(scope, &Model::weights);
    model.rpc_sync(scope, &Model::push, full(weights.shape(), step));
  }
  return model.rpc_sync(scope, &Model::weights);
}

Tensor positive_of(const Tensor& x) {
  std::vector<float> positive;
  for (const float value : x.data<float>()) {
    if (value > 0) positive.push_back(value);
  }
  return from_values<float>(positive, {static_cast<std::int64_t>(positive.size())});
}

NodeName caller_of(Scope& scope) { return scope.caller(); }

std::int64_t waiting_threads(Scope& scope) {
  const auto jobs = scope.state().node->executor().running();
  return std::count_if(jobs.begin(), jobs.end(), [](const RunningJob& job) { return job.waiting; });
}

std::int64_t value_after_increment(Counter counter) {
  counter.increment();
  return counter.value();
}

double heavy_math(std::int32_t times) {
  const Tensor identity = eye(100);
  Tensor product = identity;
  for (std::int32_t i = 0; i < times; ++i) product = matmul(product, identity);
  return sum(product * identity).item();
}

std::uint64_t trace_on(Scope& scope, const NodeName& other) { return scope.rpc_sync(other, &trace_here); }
std::uint64_t trace_here(Scope& scope) { return scope.trace(); }

std::int64_t power(std::int64_t base, std::int32_t exponent, std::int64_t modulus) {
  std::int64_t result = 1;
  for (std::int32_t i = 0; i < exponent; ++i) result = result * base % modulus;
  return result;
}

std::int64_t twice(std::int64_t x) { return 2 * x; }
std::string twice(const std::string& x) { return x + x; }

FunctionRegistry with_async_functions(const FunctionRegistry& everywhere) {
  return everywhere.with({{"add_later", &add_later},
                          {"add_later_by", &add_later_by},
                          {"add_thrice_later", &add_thrice_later},
                          {"fail_in_callback", &fail_in_callback},
                          {"add_all_later", &add_all_later},
                          {"next_from_thread", &next_from_thread},
                          {"throw_before_later", &throw_before_later},
                          {"nothing_later", &nothing_later},
                          {"fail_later_on", &fail_later_on},
                          {"add_in_turn", &add_in_turn},
                          {"add_in_turn_inside", &add_in_turn_inside},
                          {"throw_after_wait", &throw_after_wait},
                          {"wait_for_square_on", &wait_for_square_on},
                          {"ping_pong_task", &ping_pong_task},
                          {"Gate", constructor<Gate, std::int64_t>},
                          {"Gate::arrive", &Gate::arrive},
                          {"Gate::arrived", &Gate::arrived},
                          {"Accumulator", constructor<Accumulator, std::int64_t>},
                          {"Accumulator::add_by", &Accumulator::add_by},
                          {"Accumulator::add_square", &Accumulator::add_square},
                          {"Accumulator::add_square_later", &Accumulator::add_square_later},
                          {"Accumulator::added_by", &Accumulator::added_by},
                          {"Accumulator::count_up", &Accumulator::count_up},
                          {"Accumulator::value", &Accumulator::value},
                          {"add_square_to", &add_square_to},
                          {"Model", constructor<Model, std::int64_t>},
                          {"Model::weights", &Model::weights},
                          {"Model::push", &Model::push},
                          {"train_model", &train_model},
                          {"Holder", constructor<Holder>},
                          {"Holder::hold", &Holder::hold},
                          {"Holder::count", &Holder::count},
                          {"positive_of", &positive_of},
                          {"caller_of", &caller_of},
                          {"note_end_of_call_to", &note_end_of_call_to},
                          {"waiting_threads", &waiting_threads},
                          {"value_after_increment", &value_after_increment},
                          {"heavy_math", &heavy_math},
                          {"trace_on", &trace_on},
                          {"trace_here", &trace_here},
                          {"power", power_fn},
                          {"twice a number", overload<std::int64_t(std::int64_t)>(&twice)},
                          {"twice a text", overload<std::string(const std::string&)>(&twice)}});
}

}  // namespace troupe::testing
