// The code that actors/PYTORCH.md shows, compiled: pytorch_test.cc looks for each of its lines here.
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "actors/pipeline.h"
#include "node/sim/world.h"
#include "troupe.h"

// NOLINTBEGIN: nothing here runs.
namespace troupe::testing {

using namespace std::chrono_literals;

Tensor add(const Tensor& x, double y);
Variable project(const Variable& x, const Variable& w);

double train(Node& node);

struct Counter {
  std::int64_t add(std::int64_t amount) { return value += amount; }
  std::int64_t value = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

void start(const FunctionRegistry& functions) {
  NodeOptions options;
  options.name = "trainer";
  options.rank = 1;
  options.world_size = 3;                // join waits for three; 0: members come and go
  options.pool.threads = 8;              // more are added while functions wait
  options.seed = "tcp://10.0.0.1:4021";  // where the first node listens
  options.seed = "tcp://ps0.lan:4021";   // any address of that host
  options.seed = "file:/shared/demo";    // or who stands in a file that all nodes see
  options.device_maps["p1"] = {{Device::cuda(0), Device::cuda(1)}};
  options.bind = "ipc://@demo";          // unix sockets; "tcp://127.0.0.1:*" is the default
  options.bind = "tcp://192.168.1.7:*";  // an address is an interface
  options.link_options["connect_patience"] = "20s";
  const auto open = [](const LinkRequest& request) { return Transports().open(request); };
  options.transports.add("mine", {open});  // "mine://..." addresses
  Node node = Node::join(options, functions);
  node.serve();
}

void start_from_environment(const FunctionRegistry& functions) {
  Node node = Node::join(NodeOptions::from_environment(), functions);
}

void start_in_one_process(const FunctionRegistry& functions) {
  LocalClusterOptions local;
  local.wrap_link = [](std::unique_ptr<Link> link) { return link; };
  LocalCluster cluster({"trainer", "p1"}, functions, local);
}

void membership(Node& node, std::vector<NodeName>& names) {
  const WorkerInfo me = node.info();
  const WorkerInfo other = node.info("p1");
  const WorkerInfo first = node.info(0);
  for (const WorkerInfo& info : node.infos()) names.push_back(info.name);
  const ShutdownReport report = node.shutdown(5s);
  for (const std::string& line : report.waited_for) std::puts(line.c_str());
  node.stop();
  const DebugInfo about = node.debug_info();
  std::puts(about.text().c_str());
  node.measure_traffic(false);
}

void profiles(Node& node, const Tensor& x) {
  Profiler profiler(node, {.inputs = true});
  profiler.rpc_sync("p1", &add, x, 2.0);
  ProfileSpan span(profiler, "step");
  span.end_with(profiler.rpc_async("p1", &add, x, 2.0)).get();
  Profiler server(node, {.nodes = {"p1"}, .everything = true});
  const Profile profile = profiler.stop();
  std::puts(profile.table().c_str());
  profile.save_trace("trace.json");
}

void devices(Node& node) {
  node.set_device_map("p2", {{Device::cpu(), Device::cuda(0)}});  // more pairs for p2 may follow
}

inline constexpr auto add_fn = function(&add).defaults(2.0);
Future<Tensor> add_on_p1(Scope& scope, const Tensor& x) { return scope.rpc_async("p1", &add, x, 2.0); }
Task<double> total_on_p1(Scope& scope, Tensor x) {
  const Tensor y = co_await scope.rpc_async("p1", &add, x, 2.0);
  co_return sum(y).item();
}

void calls(Node& node, const Tensor& x) {
  const Tensor y = node.rpc_sync("p1", &add, x, 2.0);
  const Tensor u = node.rpc_sync(1, &add, x, 2.0);
  const Future<Tensor> f = node.rpc_async("p1", &add, x, 2.0);
  const RRef<Tensor> r = node.remote("p1", &add, x, 2.0);
  const Tensor w = node.rpc_sync("p1", op::add, x, 1.0);
  const Tensor v = node.rpc_sync("p1", add_fn, x);
  const Scope quick = node.with({.deadline = 2s});
  const Tensor z = quick.rpc_sync("p1", &add, x, 2.0);
  const std::optional<Duration> left = quick.time_left();
  const Scope patient = node.with({.deadline = Deadline::while_peer_lives()});
}

void groups(Node& node, const Tensor& part) {
  const Group all = node.group();
  all.barrier(node);
  const std::map<NodeName, Tensor> parts = all.all_gather(node, part).values;
  const auto sums = node.group({"p1", "p2"}).call_all(node, &add, part, 1.0).values;
}

void several(Node& node, const Tensor& x, const Future<Tensor>& f, const Future<Tensor>& g) {
  const Future<std::vector<Tensor>> both = collect_all(std::vector{f, g});
  const std::vector<Tensor> values = wait_all(std::vector{f, g});
  const auto [place, value] = collect_any(std::vector{f, g}).get();
  WaitAllScope calls(node);
  const Future<Tensor> h = calls.rpc_async("p1", &add, x, 2.0);
  calls.wait_all();
}

void futures(const Future<Tensor>& f) {
  const Tensor value = f.get();
  if (f.ready()) std::puts("there");
  f.cancel();                         // its function sees that, and those that it calls
  const auto soon = f.get_for(10ms);  // nothing if it is not there by then
  const Future<double> first = f.then([](const Tensor& y) { return y.item(); });
  f.then([](const Result<Tensor>& y) { std::puts(y ? "value" : y.error().text().c_str()); });
}

void references(Node& node, const RRef<Tensor>& r, const RRef<Counter>& counter) {
  const RRef<Tensor> mine(node, ones({2}));
  const Tensor copy = r.to_here(node);
  const Future<Tensor> later = r.to_here_async(node);
  if (r.is_owner()) r.local_value(node)->fill(0);
  const std::string type = r.type(node);
  r.created(node).get();
  const NodeName& owner = r.owner();
  const bool counted = r.confirmed_by_owner();
  const std::string text = r.text();  // "RRef<tensor> trainer.17 on p1"
  const std::int64_t sum = counter.rpc_sync(node, &Counter::add, 2);
  const Future<std::int64_t> next = counter.rpc_async(node, &Counter::add, 2);
  const RRef<std::int64_t> there = counter.remote(node, &Counter::add, 2);
}

void gradients(Node& node, const Variable& x, const Variable& w, const std::vector<RRef<Variable>>& parameters) {
  DistContext ctx(node);
  const Variable y = ctx.rpc_sync("p1", &project, x, w);
  backward(ctx, sum(y));
  backward(ctx, sum(y), {.inputs = {w}, .deadline = 2s});
  const Tensor g = ctx.grad(w);
  const Gradients all = ctx.gradients();
  const std::vector<RemoteGradient> there = ctx.gradients("p1");
  const RRef<Variable> loss = ctx.remote("p1", &project, x, w);
  backward(ctx, loss);  // begins where the value is
  const Future<void> pass = backward_async(ctx, loss);
  backward(ctx, loss, {.graph = Graph::release});
  const ContextId& id = ctx.id();
  const DistOptimizer optimizer(node, optim::SgdOptions{.lr = 0.05}, parameters);
  optimizer.step(ctx);
  optimizer.step(ctx, {.lr = 0.01, .max_norm = 1.0});
}

void optimizers(Node& node, const std::vector<RRef<Variable>>& parameters, const std::vector<RRef<Variable>>& body,
                const std::vector<RRef<Variable>>& head, DistContext& ctx) {
  const optim::AdamOptions options;
  const DistOptimizer optimizer(node, options, parameters);
  optimizer.overlap(ctx);
  const DistOptimizer stale(node, options, parameters, {StepMode::bounded_staleness, 3});
  DistOptimizer grouped(node, {{body, options}, {head, optim::SgdOptions{}}});
  optim::LrScheduler scheduler(grouped, optim::StepLr({.step_size = 30}));
  const SharedOptimizer shared = grouped.share();
  const NamedTensors state = grouped.state_dict(node);
  grouped.load_state_dict(node, state);
}

void sums_over_trainers(Node& node, const Tensor& x) {
  const std::shared_ptr<Collective> trainers = gloo_collective(node, node.role("trainer"));
  const Tensor mean = trainers->all_reduce(node, x, ReduceOp::mean);
  const Future<Tensor> soon = trainers->all_reduce_async(node, x);
  const Tensor there = trainers->reduce(node, "trainer", x, ReduceOp::max);  // undefined elsewhere
  const Tensor same = trainers->broadcast(node, "trainer", x);
  const std::vector<Tensor> parts = trainers->all_gather(node, x);  // by rank
  trainers->barrier(node);
}

struct Net : nn::Module {
  explicit Net(std::int64_t hidden);
  Variable forward(const Variable& x);
};
constexpr auto net_class = module_class<Net, std::int64_t>;

void replicas(Node& node, const DistContext& ctx, const std::shared_ptr<Net>& net, const Variable& x) {
  const DataParallel replica(node, gloo_collective(node, node.role("trainer")), net);
  const Variable y = replica.forward(ctx, x);
}

void batches_of_a_rank(Node& node, std::int64_t count, const std::function<void(const Tensor&)>& use) {
  const auto rows_of = [](const Tensor& examples) { return examples; };
  DistributedSampler sampler({.examples = count, .ranks = 2, .rank = 0, .seed = 1});
  DataLoader<Tensor> loader(node, sampler, {.batch = 32}, rows_of);
  while (const std::optional<Tensor> rows = loader.next()) use(*rows);
}

void a_model(Node& node, const DistContext& ctx, const Variable& x, const RRef<Net>& made) {
  const FunctionRegistry functions{{"Net", net_class}};
  const RemoteModule net(node, "p1/cuda:0", net_class, 128);
  const Variable y = net.forward(ctx, x);
  const Future<Variable> later = net.forward_async(ctx, x);
  const std::vector<RRef<Variable>> parameters = net.remote_parameters(node);
  const RRef<Net>& module = net.module_rref();
  net.train(node);
  net.eval(node);
  const Device device = net.device(node);
  const RemoteModule same(made);
}

struct Stage : nn::Module {
  explicit Stage(std::int64_t hidden);
  Variable forward(const Variable& x);
};
struct Fork : nn::Module {
  explicit Fork(std::int64_t hidden);
  std::tuple<Variable, Variable> forward(const Variable& x);
};
struct Join : nn::Module {
  explicit Join(std::int64_t hidden);
  Variable forward(const Variable& x, const Variable& residual);
};
constexpr auto stage = stage_class<Stage, std::int64_t>;
constexpr auto fork = stage_class<Fork, std::int64_t>;
constexpr auto join = stage_class<Join, std::int64_t>;
Variable squared_error(const Variable& result, const Tensor& target);

void a_pipeline(Node& node, const Variable& x, const Tensor& y, const Variable& mask,
                const std::vector<PipelineStage>& with_mask) {
  const FunctionRegistry functions{{"Stage", stage}, {"Fork", fork}, {"Join", join}, {"squared_error", &squared_error}};
  DistContext ctx(node);
  const std::vector<PipelineStage> stages{RemoteModule(node, "p1", stage, 128), RemoteModule(node, "p2", stage, 128)};
  const Pipeline pipe(node, stages, {.chunks = 8});
  const Variable scores = pipe.forward(ctx, x);
  backward(ctx, pipe.loss(ctx, x, &squared_error, y));
  const Pipeline recomputing(node, stages, {.chunks = 8, .recompute = Recompute::except_last});
  const Pipeline deferred(node, stages, {.chunks = 8, .deferred_batch_norm = true});
  const Pipeline<Variable(Variable, Variable)> masked(node, with_mask);
  const Variable attended = masked.forward(ctx, x, NoChunk(mask));
  const PipelineStage giver(RemoteModule(node, "p1", fork, 128), {.stash = {"residual"}});
  const PipelineStage taker(RemoteModule(node, "p2", join, 128), {.pop = {"residual"}});
}

void sharing_out(const nn::Sequential& layers, const Tensor& sample, const Clock& clock) {
  const std::vector<std::size_t> counts = balance_by_time(layers, sample, 2, clock);
  const std::vector<std::size_t> by_size = balance_by_size(layers, sample, 2);
}

void faults(const FunctionRegistry& functions) {
  sim::World world({.seed = 7, .link = {.drop = 0.1, .duplicate = 0.1}}, {"trainer", "p1"}, functions);
  const Future<double> loss = world.on("trainer", [](Node& node) { return train(node); });
  world.kill_after(1000, "p1");
}

}  // namespace troupe::testing
// NOLINTEND
