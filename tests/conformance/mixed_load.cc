#include "tests/conformance/mixed_load.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/pipeline.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/collective_functions.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/pipeline_functions.h"
#include "tests/conformance/pipeline_stages.h"
#include "tests/conformance/random_program.h"
#include "tests/conformance/replica_functions.h"
#include "tests/conformance/stream_functions.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<NodeName>;

const Names kOthers{"p1", "p2", "p3"};
const Names kAll{"p1", "p2", "p3", "trainer"};
constexpr auto kDeadline = 120s;

void require(bool holds, std::string_view text) {
  if (!holds) throw std::logic_error(std::string(text));
}

const NodeName& one_of(const Names& names, std::mt19937& random) { return names[random() % names.size()]; }

/// Returns a size in floats: most are small, some lie at the limits between kinds of transfer, few are large.
std::int64_t draw_size(std::mt19937& random, std::int64_t bytes_max) {
  const std::int64_t most = bytes_max / 4;
  switch (random() % 8) {
    case 0: return 1;
    case 1: return std::min<std::int64_t>(most, 16'384 - 2 + static_cast<std::int64_t>(random() % 4));
    case 2: return std::min<std::int64_t>(most, 262'144 - 2 + static_cast<std::int64_t>(random() % 4));
    case 3: return 1 + static_cast<std::int64_t>(random()) % most;
    default: return 1 + static_cast<std::int64_t>(random() % 4096);
  }
}

bool all_are(const Tensor& x, std::int64_t size, double value) {
  return x.numel() == size && (size == 0 || (min(x).item<float>() == static_cast<float>(value) &&
                                             max(x).item<float>() == static_cast<float>(value)));
}

Scope scope_of(const Node& node) { return node.with({.deadline = Deadline(kDeadline)}); }

void call(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max);
  const double value = static_cast<double>(random() % 100);
  std::vector<Future<std::int64_t>> counted;
  std::vector<Future<Tensor>> made;
  const Tensor sent = full({size}, value);
  for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
    counted.push_back(scope.rpc_async(one_of(kAll, random), &count_elements, sent));
    made.push_back(scope.rpc_async(one_of(kAll, random), &filled, size, value));
    made.push_back(scope.rpc_async(one_of(kAll, random), &add, sent, 0.0));
  }
  for (const auto& one : counted) require(one.get() == size, "a call counted another number of elements");
  for (const auto& one : made) require(all_are(one.get(), size, value), "a call returned another tensor");
  require(all_are(sent, size, value), "what was sent has changed");
}

/// The sender writes to what it sent, and the receiver to what it received.
void call_and_write(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max);
  Tensor sent = full({size}, 1.0);
  const auto first = scope.rpc_async(one_of(kOthers, random), &add, sent, 1.0);
  const auto written = scope.rpc_async(one_of(kOthers, random), &write_first, std::vector<Tensor>{sent, sent}, 5.0);
  sent.fill(3.0);
  const auto second = scope.rpc_async(one_of(kOthers, random), &add, sent, 1.0);
  require(all_are(first.get(), size, 2.0), "a write after the call was seen by it");
  require(all_are(second.get(), size, 4.0), "a write before the call was not seen by it");
  const std::vector<Tensor> back = written.get();
  require(back.size() == 2 && all_are(back[0], size, 5.0), "what the function wrote did not come back");
  require(all_are(sent, size, 3.0), "a function wrote to the sender's tensor");
}

/// Calls that end by their deadline, or are cancelled, at any point of their way.
void interrupt(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const std::int64_t size = draw_size(random, bytes_max);
  const Scope scope = trainer.with({.deadline = Deadline(std::chrono::milliseconds(1 + random() % 200))});
  std::vector<Future<Tensor>> calls;
  const RRef<Tensor> value = scope.remote(one_of(kOthers, random), &filled, size, 2.0);
  for (int i = 0; i < 4; ++i) {
    calls.push_back(scope.rpc_async(one_of(kOthers, random), &add, full({size}, 1.0), 1.0));
    calls.push_back(scope.rpc_async(one_of(kOthers, random), &forward_along, value, Names{"p1", "p2"}));
    calls.push_back(scope.rpc_async(one_of(kOthers, random), &slow_add, full({size}, 1.0), 1.0, 20));
  }
  for (const auto& one : calls)
    if (random() % 3 == 0) one.cancel();
  for (const auto& one : calls) {
    const auto result = one.get_for(kDeadline);
    require(result.has_value(), "a call with a deadline has no end");
    if (*result) {
      require(all_are(result->value(), size, 2.0), "a call returned another tensor");
      continue;
    }
    const Error& error = result->error();
    // A function whose own call ran out of time throws.
    const bool thrown = error.code == ErrorCode::remote_exception && error.cause.find("timeout: ") != std::string::npos;
    require(error.code == ErrorCode::timeout || error.code == ErrorCode::cancelled ||
                error.code == ErrorCode::ref_revoked || thrown,
            "an interrupted call failed with " + error.text());
  }
}

void pass_references(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max);
  const RRef<Tensor> value = scope.remote(one_of(kAll, random), &filled, size, 7.0);
  Names path;
  for (std::size_t i = 0; i < 1 + random() % 4; ++i) path.push_back(one_of(kAll, random));
  const auto far = scope.rpc_async(one_of(kOthers, random), &forward_along, value, path);
  const RRef<Counter> counter = scope.remote(one_of(kAll, random), constructor<Counter, std::int64_t>, std::int64_t{0});
  std::vector<Future<void>> increments;
  for (const NodeName& name : kAll) increments.push_back(scope.rpc_async(name, &increment_often, counter, 10));
  for (const auto& one : increments) one.get();
  require(counter.rpc_sync(scope, &Counter::value) == 40, "increments were lost");
  require(all_are(far.get(), size, 7.0), "a reference led to another value");
  require(all_are(value.to_here(scope), size, 7.0), "a value has changed");
}

void run_programs(const Node& trainer, std::mt19937& random) {
  const ProgramReport report = scope_of(trainer).rpc_sync(
      one_of(kOthers, random), &run_program, ProgramScript{random(), 24, 1, kAll}, std::vector<KnownCell>{});
  require(report.wrong.empty(), report.wrong.empty() ? "" : "program: " + report.wrong.front());
}

/// Two threads in one context: both call, then both differentiate. Integers, so every sum is exact.
void pass_by_two(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max / 4);
  const std::vector<Leaf> leaves{scope.remote(one_of(kAll, random), &make_leaf, size, 2.0),
                                 scope.remote(one_of(kAll, random), &make_leaf, size, 3.0)};
  const Variable own(full({size}, 1.0), RequiresGrad::yes);
  const DistContext context(scope);
  const auto differentiate = [&](std::uint32_t seed) {
    std::mt19937 draw(seed);
    Variable y = own;
    for (const Leaf& leaf : leaves) y = context.rpc_sync(leaf.owner(), &times_leaf, y, leaf);
    const Names path{one_of(kOthers, draw), one_of(kAll, draw)};
    y = context.rpc_sync(one_of(kOthers, draw), &product_along, path, y, own);
    backward(context, sum(y));
  };
  auto other = std::async(std::launch::async, differentiate, static_cast<std::uint32_t>(random()));
  differentiate(static_cast<std::uint32_t>(random()));
  other.get();
  // Each thread: sum(own own w0 w1) with own = 1, w0 = 2, w1 = 3.
  require(all_are(context.grad(own), size, 2 * 12.0), "the gradient here is wrong");
  require(all_are(context.grad(leaves[0]), size, 2 * 3.0), "the gradient of the first leaf is wrong");
  require(all_are(context.grad(leaves[1]), size, 2 * 2.0), "the gradient of the second leaf is wrong");
}

/// A context that ends while its calls and its pass are under way.
void abandon_a_pass(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max / 4);
  const Leaf leaf = scope.remote(one_of(kOthers, random), &make_leaf, size, 2.0);
  const Variable own(full({size}, 1.0), RequiresGrad::yes);
  std::optional<DistContext> context(std::in_place, scope);
  const Variable y = context->rpc_sync(leaf.owner(), &times_leaf, own, leaf);
  const auto late = context->rpc_async(one_of(kOthers, random), &product_along, kOthers, y, own);
  std::future<void> pass;
  if (random() % 2 == 0) {
    const DistBackwardOptions options{.deadline = Deadline(std::chrono::milliseconds(random() % 5))};
    try {
      backward(*context, sum(y), options);
    } catch (const RemoteError& error) {
      require(error.code() == ErrorCode::timeout, "a pass with a short deadline failed with " + error.error().text());
    }
  }
  if (random() % 2 == 0) late.cancel();
  context.reset();
  const auto result = late.get_for(kDeadline);
  require(result.has_value(), "a call of an ended context has no end");
}

void step_by_optimizer(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t size = draw_size(random, bytes_max / 8);
  std::vector<Leaf> far;
  std::vector<Variable> near;
  for (int i = 0; i < 3; ++i) {
    far.push_back(scope.remote(one_of(kAll, random), &make_leaf, size, 1.0 + 0.25 * i));
    near.push_back(make_leaf(size, 1.0 + 0.25 * i));
  }
  const std::vector<optim::RuleOptions> rules{optim::SgdOptions{.lr = 0.1, .momentum = 0.9},
                                              optim::AdamOptions{.lr = 0.05}, optim::RMSpropOptions{}};
  const std::vector<Stepping> modes{StepMode::atomic, StepMode::hogwild, {StepMode::bounded_staleness, 1}};
  const optim::RuleOptions& rule = rules[random() % rules.size()];
  const DistOptimizer apart(scope, rule, far, modes[random() % modes.size()]);
  optim::LocalOptimizer here(near, rule);
  const Variable x(full({size}, 0.5));
  const bool overlaps = random() % 2 == 0;
  for (int step = 0; step < 3; ++step) {
    const DistContext context(scope);
    Variable there = x;
    Variable local = x;
    for (std::size_t i = 0; i < far.size(); ++i) {
      there = tanh(context.rpc_sync(far[i].owner(), &times_leaf, there, far[i])) * 3.0;
      local = tanh(local * near[i]) * 3.0;
    }
    if (overlaps) apart.overlap(context);
    backward(context, sum(there));
    here.step(backward(sum(local)));
    apart.step(context);
  }
  for (std::size_t i = 0; i < far.size(); ++i) {
    require(same_bytes(far[i].to_here(scope).value(), near[i].value()), "a step gave another parameter");
  }
}

void read_streams(const Node& trainer, std::mt19937& random, std::int64_t bytes_max) {
  const Scope scope = scope_of(trainer);
  const std::int64_t end = static_cast<std::int64_t>(random() % 200);
  const Stream<std::int64_t> numbers = scope.rpc_sync(one_of(kAll, random), &doubled_from, one_of(kAll, random), end);
  const std::int64_t bytes = 4 * draw_size(random, bytes_max / 8);
  std::int64_t next = 0;
  for (const Tensor& x : scope.rpc_sync(one_of(kOthers, random), &tensors, 6, bytes).read(scope)) {
    require(all_are(x.to(DType::f32), bytes, static_cast<double>(next)), "a stream gave another tensor");
    if (++next == 4 && random() % 2 == 0) break;  // the rest is not read
  }
  next = 0;
  for (const std::int64_t number : numbers.read(scope)) {
    require(number == 2 * next, "a stream gave another number");
    ++next;
  }
  require(next == end, "a stream ended early");
}

void collect_from_group(const Node& trainer, std::mt19937& random) {
  const Scope scope = scope_of(trainer);
  const std::int64_t x = static_cast<std::int64_t>(random() % 1000);
  std::vector<Future<std::int64_t>> squares;
  for (int i = 0; i < 100; ++i) squares.push_back(scope.rpc_async(one_of(kAll, random), &square, x));
  for (const auto& one : squares) require(one.get() == x * x, "a call returned another square");
  const NodeName asked = one_of(kOthers, random);
  require(scope.rpc_sync(asked, &square_often, one_of(kAll, random), 50) == 50, "squares are missing");
  require(scope.rpc_sync(one_of(kOthers, random), &ping_pong, one_of(kAll, random), 12) == 12,
          "nested calls are missing");
  try {
    scope.rpc_sync(one_of(kOthers, random), &fail_on, one_of(kOthers, random), "on purpose");
    require(false, "a failure did not arrive");
  } catch (const RemoteError& error) {
    require(error.error().text().find("on purpose") != std::string::npos, "another failure: " + error.error().text());
  }
}

/// Returns when all calls have ended, also if some failed: the members of a collective that failed on one of them must
/// not meet those of the next one.
template <class T>
void await_ends(const std::vector<Future<T>>& calls) {
  for (const Future<T>& one : calls) std::ignore = one.get_for(kDeadline + 10s);
}

void form_collective(const Node& trainer, std::mt19937&) {
  const Scope scope = scope_of(trainer);
  std::vector<Future<std::vector<double>>> members;
  for (const NodeName& name : kOthers) members.push_back(scope.rpc_async(name, &interleave, kOthers, 2));
  await_ends(members);
  const std::vector<double> want{0 + 1 + 2, 0, 1, 4, 10 + 11 + 12, 1, 2, 9};
  for (const auto& one : members) require(one.get() == want, "a collective gave other values");
}

void train_replicas(const Node& trainer, std::mt19937& random) {
  const Scope scope = scope_of(trainer);
  const Leaf far = scope.remote("trainer", &make_leaf, ReplicaNet::kWidth, 0.5);
  ReplicaPlan plan{.members = kOthers, .batches = {}, .joins = true, .rate = 0.5};
  plan.wrapped = random() % 2 == 0 ? Wrapped::local_part : Wrapped::whole;
  plan.sparse = random() % 2 == 0;
  std::vector<Future<ReplicaOutcome>> running;
  for (const NodeName& name : kOthers) {
    ReplicaPlan own = plan;
    for (std::size_t i = 0; i < random() % 4; ++i) {
      own.batches.push_back(remainder(arange(static_cast<std::int64_t>(1 + random() % 5)), ReplicaNet::kWords));
    }
    running.push_back(scope.rpc_async(name, &run_replica, own, far));
  }
  await_ends(running);
  std::vector<ReplicaOutcome> outcomes;
  for (const auto& one : running) outcomes.push_back(one.get());
  for (const ReplicaOutcome& outcome : outcomes) {
    require(outcome.errors.empty(), outcome.errors.empty() ? "" : "replica: " + outcome.errors.front());
    for (std::size_t i = 0; i < outcome.values.size(); ++i) {
      require(same_bytes(outcome.values[i], outcomes[0].values[i]), "replicas have different values");
    }
  }
}

void step_through_pipeline(const Node& trainer, std::mt19937& random) {
  const Scope scope = scope_of(trainer);
  std::vector<PipelineStage> stages;
  std::vector<std::unique_ptr<DenseStage>> local;
  for (std::size_t i = 0; i < 3; ++i) {
    stages.emplace_back(RemoteModule(scope, kOthers[i], dense_stage, 8, 8, false, 0.0, 10 + i));
    local.push_back(std::make_unique<DenseStage>(8, 8, false, 0.0, 10 + i));
  }
  const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 12);
  const Tensor batch = arange(rows * 8).to(DType::f32).reshape({rows, 8}) * 0.01;
  const Pipeline net(scope, stages, {.chunks = 1 + static_cast<std::int64_t>(random() % 4)});
  const DistContext context(scope);
  const Variable x(batch, RequiresGrad::yes);
  const Variable loss = sum(net.forward(context, x));
  backward(context, loss);
  Variable here = x;
  for (const auto& stage : local) here = stage->forward(here);
  const Gradients gradients = backward(sum(here));
  require(allclose(context.grad(x), gradients.of(x), 1e-4, 1e-5), "a pipeline gave another gradient");
}

}  // namespace

void MixedTally::count(const std::string& activity) {
  const std::lock_guard lock(mutex_);
  ++done_[activity];
}

void MixedTally::fail(const std::string& activity, const std::string& text) {
  const std::lock_guard lock(mutex_);
  ++failures_[activity + ": " + text];
}

std::map<std::string, std::uint64_t> MixedTally::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::map<std::string, std::uint64_t> MixedTally::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

MixedActivities mixed_activities(std::int64_t bytes_max) {
  const auto sized = [bytes_max](auto function) {
    return [function, bytes_max](const Node& trainer, std::mt19937& random) { function(trainer, random, bytes_max); };
  };
  return {.shared = {{"calls", sized(&call)},
                     {"writes", sized(&call_and_write)},
                     {"interrupted calls", sized(&interrupt)},
                     {"references", sized(&pass_references)},
                     {"programs", &run_programs},
                     {"passes of two threads", sized(&pass_by_two)},
                     {"abandoned passes", sized(&abandon_a_pass)},
                     {"optimizers", sized(&step_by_optimizer)},
                     {"streams", sized(&read_streams)},
                     {"small calls", &collect_from_group},
                     {"pipelines", &step_through_pipeline}},
          .alone = {{"collectives", &form_collective}, {"replicas", &train_replicas}}};
}

void run_mixed_load(const Node& trainer, const MixedActivities& activities, int threads, std::uint32_t seed,
                    MixedTally& tally, const std::function<bool()>& goes_on) {
  const auto run = [&](const std::vector<MixedActivity>& kinds, std::uint32_t own_seed) {
    std::mt19937 random(own_seed);
    while (goes_on()) {
      const MixedActivity& activity = kinds[random() % kinds.size()];
      try {
        activity.run(trainer, random);
        tally.count(activity.name);
      } catch (const std::exception& error) {
        tally.fail(activity.name, error.what());
      }
    }
  };
  std::vector<std::jthread> all;
  all.emplace_back([&] { run(activities.alone, seed); });
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] { run(activities.shared, seed + 1 + static_cast<std::uint32_t>(i)); });
  }
}

}  // namespace troupe::testing
