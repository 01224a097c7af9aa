#include "tests/conformance/test_functions.h"

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/dist_autograd.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

TimePoint after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

/// Waits as served functions wait, until `stop` is requested or 20 s have passed.
bool wait_for(const std::stop_token& stop) {
  detail::WaitPoint stopped;
  const std::stop_callback signal(stop, [&stopped] { stopped.signal(); });
  return stopped.wait(after(20s));
}

}  // namespace

Tensor add(const Tensor& x, double y) { return troupe::add(x, y); }
std::int64_t scale(std::int64_t x, std::int32_t times) { return x * times; }
std::int64_t square(std::int64_t x) noexcept { return x * x; }

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void nothing() {}
Sample echo_sample(const Sample& sample) { return sample; }
Nested echo_nested(const Nested& nested) { return nested; }
std::vector<Tensor> echo_tensors(std::vector<Tensor> tensors) { return tensors; }
std::string device_of(const Tensor& tensor) { return to_string(tensor.device()); }
Variable echo_variable(Variable variable) { return variable; }
Variable times(Scope& scope, const Variable& x, const RRef<Variable>& w) { return mul(x, *w.local_value(scope)); }
Unreadable unreadable(std::int32_t value) { return {value}; }

std::vector<Tensor> write_first(std::vector<Tensor> tensors, double value) {
  tensors.front().fill(value);
  return tensors;
}

NodeName where(Scope& scope) { return scope.node_name(); }
void throw_text(const std::string& text) { throw std::runtime_error(text); }
std::int32_t throw_number() { throw 42; }
std::int32_t throw_out_of_range() { throw std::out_of_range("index 7 of 3"); }

void fail_on(Scope& scope, const NodeName& other, const std::string& text) { scope.rpc_sync(other, &throw_text, text); }

std::int32_t ping_pong(Scope& scope, const NodeName& other, std::int32_t depth) {
  if (depth == 0) return 0;
  return 1 + scope.rpc_sync(other, &ping_pong, scope.node_name(), depth - 1);
}

std::optional<std::int64_t> time_left_ms(Scope& scope) {
  const auto left = scope.time_left();
  if (!left) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*left).count();
}

std::optional<std::int64_t> time_left_on(Scope& scope, const NodeName& other) {
  return scope.rpc_sync(other, &time_left_ms);
}

std::int64_t square_on_and_one(Scope& scope, const NodeName& other, std::int64_t x) {
  return scope.rpc_async(other, &square, x).then([](std::int64_t squared) { return squared + 1; }).get();
}

bool wait_until_stopped(Scope& scope) { return wait_for(scope.stop_token()); }

bool wait_on(Scope& scope, const NodeName& other) { return scope.rpc_sync(other, &wait_until_stopped); }

std::int32_t answer_after(std::int32_t ms) {
  static_cast<void>(detail::WaitPoint().wait(after(std::chrono::milliseconds(ms))));
  return ms;
}

std::int32_t compute_for(std::int32_t ms) {
  static_cast<void>(detail::WaitPoint().wait_here(after(std::chrono::milliseconds(ms))));
  return ms;
}

Counts counts_here(Scope& scope) {
  const detail::NodeCounts counts = scope.state().node->counts();
  const std::uint64_t forks = scope.state().node->references().forks();
  return {counts.pending_requests, counts.served_calls, counts.owned_values, counts.handles, forks, counts.contexts};
}

void await_world(Scope& scope, std::uint64_t nodes) {
  if (const auto error = scope.state().node->membership().wait_for_members(nodes, after(20s)))
    throw RemoteError(*error);
}

std::vector<NodeName> members_here(Scope& scope) {
  std::vector<NodeName> names;
  for (const Peer& peer : scope.state().node->membership().members()) names.push_back(peer.name);
  return names;
}

void Counter::increment() {
  const std::int64_t before = value_;
  std::this_thread::yield();
  value_ = before + 1;
}

std::int64_t Counter::add(std::int64_t amount) { return value_ += amount; }

void Counter::compute_for(std::int32_t ms) {
  static_cast<void>(testing::compute_for(ms));
  ++value_;
}

std::int64_t Counter::incremented_by(Scope& scope, const NodeName& other, const RRef<Counter>& self) {
  scope.rpc_sync(other, &increment_of, self);
  return value_;
}

bool Counter::wait_until_stopped(Scope& scope) const { return wait_for(scope.stop_token()); }

bool Counter::hold_until_stopped(Scope& scope) const {
  detail::WaitPoint stopped;
  const std::stop_callback signal(scope.stop_token(), [&stopped] { stopped.signal(); });
  return stopped.wait_here(after(20s));
}

Tensor slow_add(const Tensor& x, double y, std::int32_t ms) {
  static_cast<void>(answer_after(ms));
  return testing::add(x, y);
}

Tensor rref_add(Scope& scope, const RRef<Tensor>& a, const RRef<Tensor>& b) {
  return troupe::add(a.to_here(scope), b.to_here(scope));
}

Tensor rref_value(Scope& scope, const RRef<Tensor>& rref) { return rref.to_here(scope); }
Tensor rref_local(Scope& scope, const RRef<Tensor>& rref) { return *rref.local_value(scope); }
std::int64_t multiplied(const Sealed& sealed, std::int64_t factor) { return sealed.value() * factor; }

void increment_of(Scope& scope, const RRef<Counter>& counter) { counter.rpc_sync(scope, &Counter::increment); }

void increment_often(Scope& scope, const RRef<Counter>& counter, std::int32_t times) {
  for (std::int32_t i = 0; i < times; ++i) counter.rpc_sync(scope, &Counter::increment);
}

void fill_later(Scope& scope, const RRef<Tensor>& rref, double value, std::int32_t ms) {
  static_cast<void>(answer_after(ms));
  rref.rpc_sync(scope, &Tensor::fill, value);
}

RRef<Tensor> keep_here(Scope& scope, const Tensor& value) { return RRef<Tensor>(scope, value); }

RRef<Tensor> keep_here_when_stopped(Scope& scope, const Tensor& value) {
  static_cast<void>(wait_until_stopped(scope));
  return keep_here(scope, value);
}

std::vector<RRef<Tensor>> keep_many(Scope& scope, std::int32_t count) {
  std::vector<RRef<Tensor>> rrefs;
  for (std::int32_t i = 0; i < count; ++i) rrefs.emplace_back(scope, scalar(static_cast<float>(i)));
  return rrefs;
}

RRef<Tensor> give_back(RRef<Tensor> rref) { return rref; }

std::vector<RRef<std::int64_t>> keep_range(Scope& scope, std::int64_t first, std::int64_t count) {
  std::vector<RRef<std::int64_t>> rrefs;
  for (std::int64_t i = 0; i < count; ++i) rrefs.emplace_back(scope, first + i);
  return rrefs;
}

std::vector<std::pair<NodeName, std::int64_t>> read_all(Scope& scope, const std::vector<RRef<std::int64_t>>& rrefs) {
  std::vector<std::pair<NodeName, std::int64_t>> values;
  for (const auto& rref : rrefs) values.emplace_back(rref.owner(), rref.to_here(scope));
  return values;
}

std::vector<std::pair<NodeName, std::int64_t>> read_mine_on(Scope& scope, const NodeName& other, std::int64_t first,
                                                            std::int64_t count) {
  return scope.rpc_sync(other, &read_all, keep_range(scope, first, count));
}
Bundle give_bundle_back(Bundle bundle) { return bundle; }

Tensor bundle_sum(Scope& scope, const Bundle& bundle) {
  Tensor sum = bundle.value.to_here(scope);
  if (bundle.other) sum = troupe::add(sum, bundle.other->to_here(scope));
  for (const auto& [name, rref] : bundle.more) sum = troupe::add(sum, rref.to_here(scope));
  return sum;
}

Tensor add_on(Scope& scope, const NodeName& other, const Tensor& x, double y) {
  return scope.remote(other, &add, x, y).to_here(scope);
}

Tensor forward_along(Scope& scope, const RRef<Tensor>& rref, std::vector<NodeName> path) {
  if (path.empty()) return rref.to_here(scope);
  const NodeName next = path.front();
  path.erase(path.begin());
  return scope.rpc_sync(next, &forward_along, rref, path);
}

bool is_confirmed_here(const RRef<Tensor>& rref) { return rref.confirmed_by_owner(); }
Bundle keep_bundle(RRef<Tensor> rref) { return {"kept", std::move(rref), {}, {}}; }

std::vector<RRef<Tensor>> give_back_too_late(Scope& scope, std::vector<RRef<Tensor>> rrefs) {
  const detail::Membership& members = scope.state().node->membership();
  const Incarnation first = members.life_of(scope.caller()).incarnation;
  const auto due = after(20s);
  for (NodeLife life{{}, first}; life.incarnation == first || life.incarnation == Incarnation{};
       life = members.life_of(scope.caller())) {
    if (std::chrono::steady_clock::now() > due) throw std::runtime_error(scope.caller() + " has no other life");
    static_cast<void>(answer_after(1));
  }
  return rrefs;
}

std::vector<RRef<Tensor>> ask_to_give_back_too_late(Scope& scope, const NodeName& other,
                                                    const std::vector<RRef<Tensor>>& rrefs) {
  return scope.rpc_sync(other, &give_back_too_late, rrefs);
}

bool hold_on(Scope& scope, const NodeName& server) {
  std::vector<RRef<Tensor>> held;
  for (int i = 0; i < 10; ++i) held.push_back(scope.remote(server, &add, scalar(1.0F), static_cast<double>(i)));
  const DistContext context(scope);
  static_cast<void>(context.rpc_sync(server, &echo_variable, Variable(scalar(1.0F), RequiresGrad::yes)));
  return wait_for(scope.stop_token());
}

std::int64_t disagree_on_trainer(std::int64_t x) { return x; }
std::int64_t disagree_elsewhere(const std::string& x) { return static_cast<std::int64_t>(x.size()); }
std::int64_t only_on_trainer(std::int64_t x) { return x; }

FunctionRegistry test_functions() {
  return {{"add", &add},
          {"scale", &scale},
          {"square", &square},
          {"join_words", &join_words},
          {"nothing", &nothing},
          {"echo_sample", &echo_sample},
          {"echo_nested", &echo_nested},
          {"echo_tensors", &echo_tensors},
          {"device_of", &device_of},
          {"echo_variable", &echo_variable},
          {"times", &times},
          {"unreadable", &unreadable},
          {"write_first", &write_first},
          {"where", &where},
          {"throw_text", &throw_text},
          {"throw_number", &throw_number},
          {"throw_out_of_range", &throw_out_of_range},
          {"fail_on", &fail_on},
          {"ping_pong", &ping_pong},
          {"time_left_ms", &time_left_ms},
          {"time_left_on", &time_left_on},
          {"square_on_and_one", &square_on_and_one},
          {"wait_until_stopped", &wait_until_stopped},
          {"wait_on", &wait_on},
          {"give_back_too_late", &give_back_too_late},
          {"ask_to_give_back_too_late", &ask_to_give_back_too_late},
          {"answer_after", &answer_after},
          {"compute_for", &compute_for},
          {"counts_here", &counts_here},
          {"await_world", &await_world},
          {"members_here", &members_here},
          {"Counter", constructor<Counter, std::int64_t>},
          {"Counter::increment", &Counter::increment},
          {"Counter::add", &Counter::add},
          {"Counter::value", &Counter::value},
          {"Counter::plus", &Counter::plus},
          {"Counter::fail", &Counter::fail},
          {"Counter::compute_for", &Counter::compute_for},
          {"Counter::incremented_by", &Counter::incremented_by},
          {"Counter::wait_until_stopped", &Counter::wait_until_stopped},
          {"Counter::hold_until_stopped", &Counter::hold_until_stopped},
          {"Sealed", constructor<Sealed, std::int64_t>},
          {"multiplied", &multiplied},
          {"LabelledCounter", constructor<LabelledCounter, std::string, std::int64_t>},
          {"LabelledCounter::add", member_of<LabelledCounter>(&LabelledCounter::add)},
          {"LabelledCounter::value", member_of<LabelledCounter>(&Counter::value)},
          {"LabelledCounter::text", &LabelledCounter::text},
          {"slow_add", &slow_add},
          {"rref_add", &rref_add},
          {"rref_value", &rref_value},
          {"rref_local", &rref_local},
          {"increment_of", &increment_of},
          {"increment_often", &increment_often},
          {"fill_later", &fill_later},
          {"Tensor::fill", &Tensor::fill},
          {"keep_here", &keep_here},
          {"keep_here_when_stopped", &keep_here_when_stopped},
          {"keep_many", &keep_many},
          {"give_back", &give_back},
          {"keep_range", &keep_range},
          {"read_all", &read_all},
          {"read_mine_on", &read_mine_on},
          {"give_bundle_back", &give_bundle_back},
          {"bundle_sum", &bundle_sum},
          {"add_on", &add_on},
          {"forward_along", &forward_along},
          {"is_confirmed_here", &is_confirmed_here},
          {"keep_bundle", &keep_bundle},
          {"hold_on", &hold_on}};
}

}  // namespace troupe::testing
