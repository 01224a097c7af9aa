#include "actors/dist_autograd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>

#include "actors/calls/call_encoder.h"
#include "actors/contexts/contexts.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/deadline.h"
#include "actors/profile/events.h"
#include "actors/profile/recording.h"
#include "autograd/engine.h"
#include "tensor/error.h"

namespace troupe {
namespace {

Scope scope_with_new_context(const Scope& scope) {
  auto state = std::make_shared<detail::ScopeState>(scope.state());
  state->counters = std::make_shared<detail::CallCounters>();
  state->context = state->node->contexts().open();  // last: nobody would release it
  return Scope(std::move(state));
}

const ContextId& context_of(const Scope& scope, const char* operation) {
  if (scope.state().context) return *scope.state().context;
  throw std::logic_error(std::string("[") + operation +
                         "] the scope has no autograd context: call through a DistContext");
}

/// Returns the variable behind a reference to a value of this node. Throws RemoteError, also for an exception of a
/// registered type: that is in the Error.
Variable value_here(const Scope& scope, const RRef<Variable>& rref, std::optional<TimePoint> due) {
  detail::NodeCore& node = *scope.state().node;
  const Promise<std::vector<Variable>> found(node.future_home());
  detail::variables_of(node, {rref.id()}, {node.name(), node.incarnation()},
                       [found](Result<std::vector<Variable>> values) { found.complete(std::move(values)); });
  const auto values = found.future().get_for(due ? Deadline(*due - node.clock().now()) : Deadline::while_peer_lives());
  if (!values)
    throw RemoteError(node.error(ErrorCode::timeout, node.name(), "backward", rref.text() + " does not exist yet"));
  return values->value().front();
}

/// The same in turn: waits as long as `scope` does. Copies that others keep of the value stay up to date.
Variable read_in_turn(const Scope& scope, const RRef<Variable>& rref) {
  if (!rref.defined()) detail::throw_null_rref("read");
  return *detail::read_here(scope.state(), rref.shared_handle(), &typeid(Variable)).box.as<Variable>();
}

}  // namespace

Root::Root(Variable variable, Tensor gradient) : place_(std::move(variable)), gradient_(std::move(gradient)) {}

Root::Root(RRef<Variable> variable, Tensor gradient) : place_(std::move(variable)), gradient_(std::move(gradient)) {}

Input::Input(Variable variable) : place_(std::move(variable)) {}

Input::Input(RRef<Variable> variable) : place_(std::move(variable)) {}

Input::~Input() = default;
Input::Input(const Input&) = default;
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(const Input&) = default;
Input& Input::operator=(Input&&) noexcept = default;

DistContext::DistContext(const Scope& scope) : Scope(scope_with_new_context(scope)) {}

DistContext::~DistContext() {
  detail::NodeCore& node = *state().node;
  if (!node.is_of_this_process()) return;  // the context is the parent's
  try {
    node.contexts().release(id());
  } catch (const std::bad_alloc&) {  // all its nodes would keep it for ever
    node.fail(detail::failure_of_current_exception("a context"));
  }
}

const ContextId& DistContext::id() const { return *state().context; }

Tensor DistContext::grad(const Variable& leaf) const { return state().node->contexts().gradient(id(), leaf).get(); }

Tensor DistContext::grad(const RRef<Variable>& leaf) const {
  return rpc_sync(leaf.owner(), &detail::gradient_at_owner, leaf);
}

namespace detail {

Tensor gradient_at_owner(Scope& scope, const RRef<Variable>& leaf) {
  const Variable mine = read_in_turn(scope, leaf);
  return scope.state().node->contexts().gradient(context_of(scope, "grad"), mine).get();
}

std::vector<RemoteGradient> gradients_at_owner(Scope& scope) {
  const Gradients found = gradients(scope);
  std::vector<RemoteGradient> all;
  for (const Variable& leaf : found.leaves()) {
    const SparseTensor rows = found.sparse_of(leaf);
    all.push_back({RRef<Variable>(scope, leaf), rows.defined() ? Tensor() : found.of(leaf), rows});
  }
  return all;
}

UnusedHere unused_here(Scope& scope, const PassId& pass) {
  return scope.state().node->contexts().unused(context_of(scope, "unused_boundaries"), pass).get();
}

Variable seeded_at_owner(Scope& scope, const RRef<Variable>& root, const Tensor& gradient) {
  return seeded_root(read_in_turn(scope, root), gradient);
}

}  // namespace detail

Gradients DistContext::gradients() const { return troupe::gradients(*this); }

std::vector<RemoteGradient> DistContext::gradients(To node) const {
  return rpc_sync(std::move(node), &detail::gradients_at_owner);
}

std::vector<UnusedBoundary> DistContext::unused_boundaries() const {
  const detail::UnusedHere own = state().node->contexts().unused(id(), std::nullopt).get();
  std::vector<UnusedBoundary> all = own.boundaries;
  std::set<NodeName> seen{node_name()};
  std::vector<NodeName> next = own.peers;
  while (!next.empty()) {
    std::vector<Future<detail::UnusedHere>> asked;
    for (const NodeName& node : std::exchange(next, {})) {
      if (seen.insert(node).second) asked.push_back(rpc_async(node, &detail::unused_here, own.pass));
    }
    for (const auto& answer : asked) {
      const detail::UnusedHere there = answer.get();
      all.insert(all.end(), there.boundaries.begin(), there.boundaries.end());
      next.insert(next.end(), there.peers.begin(), there.peers.end());
    }
  }
  return all;
}

std::string UnusedBoundary::text() const {
  return fmt::format("{}, {} to {}: {} of {} values without a gradient", what, from, to, unused, sent);
}

Gradients gradients(const Scope& scope) {
  return scope.state().node->contexts().gradients(context_of(scope, "gradients")).get();
}

namespace {

/// Adds the values that `reference` names to those of its owner. Throws RemoteError if it cannot be used.
void add_remote(const RRef<Variable>& reference, detail::PassPlaces& places, detail::PassPlan& plan) {
  const NodeLife& owner = reference.shared_handle()->owner();
  places.remote[owner.name].push_back(reference.id());
  plan.lives.emplace(owner.name, owner.incarnation);
}

/// Throws RemoteError if `reference`, not a null one, cannot be used.
void check_usable(const Scope& scope, const RRef<Variable>& reference) {
  static_cast<void>(reference.id());
  if (auto why = reference.shared_handle()->unusable(*scope.state().node, "backward"))
    throw RemoteError(*std::move(why));
}

detail::PassPlaces places_of(const Scope& scope, const std::vector<Input>& inputs, detail::PassPlan& plan,
                             std::optional<TimePoint> due) {
  detail::PassPlaces places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* rref = std::get_if<RRef<Variable>>(&inputs[i].place());
    if (rref != nullptr) check_usable(scope, *rref);
    if (rref != nullptr && rref->owner() != scope.node_name()) {
      add_remote(*rref, places, plan);
      continue;
    }
    const Variable input = rref == nullptr ? std::get<Variable>(inputs[i].place()) : value_here(scope, *rref, due);
    if (!input.defined() || !input.requires_grad()) {
      throw TensorError(fmt::format("[backward] input {} requires no gradient", i));
    }
    places.local.push_back(input);
  }
  return places;
}

/// Returns what the options ask for. Waits for references to values of this node. Throws RemoteError if a reference
/// cannot be used: the next life of its owner knows nothing of it.
detail::PassPlan plan_of(const Scope& scope, const std::vector<Root>& roots, const DistBackwardOptions& options,
                         std::optional<TimePoint> due) {
  detail::PassPlan plan;
  plan.graph = options.graph;
  std::vector<RRef<Variable>> kept;  // the pass may have to wait for the one before it
  for (const Root& root : roots) {
    const bool has_gradient = root.gradient().defined();
    const auto* rref = std::get_if<RRef<Variable>>(&root.place());
    if (rref != nullptr) check_usable(scope, *rref);
    const bool is_here = rref == nullptr || rref->owner() == scope.node_name();
    if (rref != nullptr && has_gradient) {
      // By a call wherever the value is, so that the order of sums is the same everywhere.
      if (is_here) static_cast<void>(seeded_root(value_here(scope, *rref, due), root.gradient()));
      kept.push_back(scope.remote(rref->owner(), &detail::seeded_at_owner, *rref, root.gradient()));
    } else if (rref != nullptr) {
      kept.push_back(*rref);
    }
    if (rref != nullptr) rref = &kept.back();
    if (is_here) {
      const Variable given = rref == nullptr ? std::get<Variable>(root.place()) : value_here(scope, *rref, due);
      plan.roots.local.push_back(rref == nullptr && has_gradient ? seeded_root(given, root.gradient()) : given);
      static_cast<void>(initial_gradient(plan.roots.local.back()));  // an invalid root is the caller's error
    } else {
      add_remote(*rref, plan.roots, plan);
    }
  }
  if (!options.inputs.empty()) plan.inputs = places_of(scope, options.inputs, plan, due);
  for (const Input& input : options.inputs) {
    if (const auto* rref = std::get_if<RRef<Variable>>(&input.place())) kept.push_back(*rref);
  }
  plan.kept = std::make_shared<const std::vector<RRef<Variable>>>(std::move(kept));
  return plan;
}

bool is_here(const Scope& scope, const std::variant<Variable, RRef<Variable>>& place) {
  const auto* rref = std::get_if<RRef<Variable>>(&place);
  return rref != nullptr && rref->owner() == scope.node_name();
}

/// Returns whether plan_of may have to wait.
bool may_wait(const Scope& scope, const std::vector<Root>& roots, const DistBackwardOptions& options) {
  return std::ranges::any_of(roots, [&](const Root& root) { return is_here(scope, root.place()); }) ||
         std::ranges::any_of(options.inputs, [&](const Input& input) { return is_here(scope, input.place()); });
}

Scope within(const Scope& scope, const std::optional<Deadline>& deadline) {
  return deadline ? scope.with({.deadline = *deadline}) : scope;
}

/// Begins the event of a pass, which ends with it.
void record_pass(const detail::ScopeState& scope, detail::FutureCore& done) {
  try {
    done.hold_until_done(
        std::make_shared<detail::OpenEvent>(scope, EventKind::pass, fmt::format("backward({})", scope.node->name())));
  } catch (const std::bad_alloc&) {  // the pass goes on without its event
    scope.node->recordings().lose();
  }
}

void begin_pass(const Scope& scope, detail::PassPlan plan, std::optional<TimePoint> due, const Promise<void>& done) {
  const detail::ScopeState& state = scope.state();
  if (state.node->recordings().any()) record_pass(state, done.future().state());
  detail::PassLimits limits{due, detail::cancelling(state, done.future().state())};
  state.node->contexts().backward(*state.context, std::move(plan), std::move(limits), done);
}

void check_call(const Scope& scope, const std::vector<Root>& roots) {
  static_cast<void>(context_of(scope, "backward"));
  if (roots.empty()) throw TensorError("[backward] there are no roots");
}

}  // namespace

void backward(const Scope& scope, const std::vector<Root>& roots, const DistBackwardOptions& options) {
  check_call(scope, roots);
  if (scope.state().node->contexts().is_in_pass(*scope.state().context))
    throw std::logic_error(
        "[backward] the caller is part of a pass of this node on the same context: each would wait "
        "for the other's end");
  const Scope inner = within(scope, options.deadline);
  const auto due = due_of(inner.state());
  const Promise<void> done(inner);
  try {
    begin_pass(inner, plan_of(inner, roots, options, due), due, done);
  } catch (const RemoteError& error) {
    detail::throw_error(done.future().state().home().exceptions.get(), error.error());
  }
  done.future().get();
}

void backward(const Scope& scope, const Root& root, const DistBackwardOptions& options) {
  backward(scope, std::vector<Root>{root}, options);
}

Future<void> backward_async(const Scope& scope, const std::vector<Root>& roots, const DistBackwardOptions& options) {
  check_call(scope, roots);
  const Scope inner = within(scope, options.deadline);
  const auto due = due_of(inner.state());
  const Promise<void> done(inner);
  if (!may_wait(inner, roots, options)) {
    begin_pass(inner, plan_of(inner, roots, options, due), due, done);
    return done.future();
  }
  const auto begin = [inner, roots, options, due, done] {
    try {
      begin_pass(inner, plan_of(inner, roots, options, due), due, done);
    } catch (const TensorError& error) {
      done.complete(inner.state().node->error(ErrorCode::bad_argument, inner.node_name(), "backward", error.what()));
    } catch (const RemoteError& error) {
      done.complete(error.error());
    }
  };
  inner.state().node->run("backward", begin, [done](const Error& refused) { done.complete(refused); });
  return done.future();
}

Future<void> backward_async(const Scope& scope, const Root& root, const DistBackwardOptions& options) {
  return backward_async(scope, std::vector<Root>{root}, options);
}

}  // namespace troupe
