// A node among members that say anything at any time: it neither ends nor waits for ever, and keeps nothing of them
// once they are gone.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/rref.h"
#include "actors/shards/step_options.h"
#include "actors/shards/update_rule.h"
#include "actors/stack_info.h"
#include "autograd/ops.h"
#include "autograd/variable.h"
#include "messages/senders.h"
#include "node/node.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tests/actors/bare_peer.h"
#include "tests/messages/message_samples.h"
#include "tests/scenarios/random_messages.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

Variable served_scale(const Variable& x) { return x * 2.0; }
Variable served_leaf(const Tensor& values) { return {values, RequiresGrad::yes}; }
Variable served_weigh(const Variable& w, const Variable& x) { return w * x; }
Tensor served_echo(const Tensor& x) { return x; }
RRef<Variable> served_pass_on(const RRef<Variable>& x) { return x; }

FunctionRegistry hostile_functions() {
  return {{"scale", &served_scale},
          {"leaf", &served_leaf},
          {"echo", &served_echo},
          {"pass_on", &served_pass_on},
          {"weigh", &served_weigh}};
}

/// Sums and maxima over many worlds, which show that what the peers said reached every part of the node.
struct Reached {
  std::size_t said = 0;
  std::size_t sessions_ended = 0;  ///< by the node
  // The most at one time of what the peers, not the node itself, have begun there.
  std::size_t owners = 0;
  std::size_t forks = 0;
  std::size_t contexts = 0;
  std::size_t passes = 0;
  std::size_t shards = 0;
  std::size_t served_calls = 0;

  void add(const Reached& other) {
    said += other.said;
    sessions_ended += other.sessions_ended;
    owners = std::max(owners, other.owners);
    forks = std::max(forks, other.forks);
    contexts = std::max(contexts, other.contexts);
    passes = std::max(passes, other.passes);
    shards = std::max(shards, other.shards);
    served_calls = std::max(served_calls, other.served_calls);
  }

  void check() const {
    BOOST_TEST_MESSAGE(fmt::format(
        "{} said, {} sessions ended; at most {} owners, {} forks, {} contexts, {} passes, {} shards, {} served calls",
        said, sessions_ended, owners, forks, contexts, passes, shards, served_calls));
    BOOST_TEST(sessions_ended > 0U);
    BOOST_TEST(sessions_ended < said / 2);
    for (const std::size_t most : {owners, forks, contexts, passes, shards, served_calls}) BOOST_TEST(most > 0U);
  }
};

/// The node "m", which works as programs do, among p1, p2 and p3.
class HostileWorld : public AmongBarePeers {
 public:
  HostileWorld(std::uint64_t seed, std::optional<std::uint32_t> rank)
      : AmongBarePeers(rank, hostile_functions()), dice_(seed) {
    for (const char* name : {"p1", "p2", "p3"}) appear(name);
  }

  void play(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      listen();
      step();
      look();
    }
  }

  [[nodiscard]] const Reached& reached() const { return reached_; }

 protected:
  [[nodiscard]] Dice& dice() { return dice_; }
  void run_kept() {
    for (Job& job : std::exchange(pool->kept, {})) job.run();
  }

 public:
  /// All peers die, and the program lets go of everything. Returns what the node still holds much later.
  std::string rest_of_it() {
    contexts_.clear();
    values_.clear();
    waits_for_.clear();
    run_kept();
    pool->keeps = false;
    for (const auto& [name, peer] : peers_) peer->die();
    for (int i = 0; i < 20; ++i) clock->advance(10min);
    run_kept();
    return text_of(node->stack());
  }

 private:
  static std::string text_of(const StackInfo& stack) {
    const DebugInfo& counts = stack.counts;
    std::string text;
    const auto note = [&](std::string_view what, std::size_t count) {
      if (count > 0) text += fmt::format("{} {}, ", count, what);
    };
    note("owners", counts.owners);
    note("handles", counts.handles);
    note("contexts", counts.contexts);
    note("passes", counts.backward_passes);
    note("shards", counts.shards);
    note("pending calls", counts.pending_calls);
    note("served calls", counts.served_calls);
    for (const auto& [name, held] : counts.peers) {
      text += fmt::format("{}: ", name);
      note("waiting calls", held.waiting_calls);
      note("waiting bytes", held.waiting_bytes);
      note("queued calls", held.queued_calls);
      note("bytes of answers", held.answer_bytes);
      note("its owners", held.owners);
      note("its forks", held.forks);
      note("its contexts", held.contexts);
    }
    for (const OpenContext& context : stack.contexts) text += "context " + context.context + ", ";
    for (const ValueInUse& value : stack.values) {
      text += "value " + value.value;
      for (const ValueUser& user : value.users) text += fmt::format(" ({} {})", user.what, int(user.state));
      text += ", ";
    }
    return text;
  }

  struct Asked {
    NodeName by;
    BarePeer::Heard request;
  };

  void appear(const NodeName& name) {
    peers_[name] = nullptr;  // its last life ends first
    peers_[name] = peer(name, ++last_life_);
  }

  void listen() {
    for (auto& [name, peer] : peers_) {
      for (BarePeer::Heard& heard : peer->take_all()) {
        heard.message.visit([&](auto& message) { message.serialize(collect_); });
        const bool is_call = heard.message.holds<msg::Call>() || heard.message.holds<msg::RemoteCall>() ||
                             heard.message.holds<msg::ValueCall>();
        if (is_call) calls_.push_back(heard.message);
        if (heard.request.value != 0) asked_.push_back({name, std::move(heard)});
      }
      if (!peer->end_of("m")) continue;
      ++reached_.sessions_ended;  // by the node: another life of the peer comes
      appear(name);
    }
  }

  void look() {
    const DebugInfo info = node->debug_info();
    const auto note = [](std::size_t& most, std::size_t count) { most = std::max(most, count); };
    for (const auto& [name, held] : info.peers) {
      if (name == "m") continue;
      note(reached_.owners, held.owners);
      note(reached_.forks, held.forks);
      note(reached_.contexts, held.contexts);
      note(reached_.shards, held.shards);
    }
    note(reached_.served_calls, info.served_calls);
    if (contexts_.empty()) note(reached_.passes, info.backward_passes);  // or they may be of the node's own contexts
  }

  void step() {
    const std::size_t what = dice_.below(100);
    if (what < 50) return say();
    if (what < 65) return answer();
    if (what < 80) return work();
    if (what < 90) return clock->advance(std::chrono::milliseconds(1 << dice_.below(16)));
    if (what < 94) return static_cast<void>(pool->keeps = !pool->keeps);
    if (what < 98) return run_kept();
    appear(some_peer());
  }

  NodeName some_peer() { return "p" + std::to_string(1 + dice_.below(3)); }

  std::vector<NodeLife> lives_from(const NodeName& sender) {
    std::vector<NodeLife> lives{peers_.at(sender)->life(), life()};
    for (const auto& [name, peer] : peers_) lives.push_back(peer->life());
    lives.push_back({"nobody", {9, 9}});
    return lives;
  }

  msg::AnyMessage some_message(const NodeName& from, std::optional<msg::Kind> kind) {
    const std::vector<NodeLife> lives = lives_from(from);
    for (;;) {
      std::vector<msg::AnyMessage> samples = every_message();
      const bool again = !calls_.empty() && dice_.chance(25);
      msg::AnyMessage message = again ? dice_.one_of(calls_) : samples[dice_.below(samples.size())];
      if (kind && msg::info_of(message).kind != *kind) continue;
      // Of the samples' ids none means anything here.
      if (!again) {
        Mutate ids(dice_, seen_, lives, 90);
        message.visit([&](auto& m) { m.serialize(ids); });
      }
      if (auto* create = message.get_if<msg::ShardCreate>(); create != nullptr && dice_.chance(80))
        create->groups = {some_group()};
      if (auto* remote = message.get_if<msg::RemoteCall>(); remote != nullptr && again) {
        Mutate ids(dice_, seen_, lives, 90);
        ids(remote->rref, remote->fork);
      }
      Mutate some(dice_, seen_, lives, 3);
      message.visit([&](auto& m) { m.serialize(some); });
      // Few are refused at the door: those are another test's.
      if (msg::lie_in(message, lives.front(), "m") && dice_.chance(90)) continue;
      message.visit([&](auto& m) { m.serialize(collect_); });
      return message;
    }
  }

  msg::ShardGroup some_group() {
    const detail::UpdateRule rule = detail::rule_of(optim::SgdOptions{});
    msg::ShardGroup group{rule.name, rule.options, {}, {}};
    for (const RRefId& id : seen_.of<RRefId>()) {
      if (id.creator != "m" || dice_.chance(50)) continue;
      group.places.push_back(group.parameters.size());
      group.parameters.push_back(id);
    }
    return group;
  }

  std::string some_actor() {
    const std::vector<std::string> fixed{"worker", "references", "contexts", "membership", "router", "nobody"};
    switch (dice_.below(4)) {
      case 0: return dice_.one_of(fixed);
      case 1: return seen_.of<RRefId>().empty() ? "" : "rref/" + dice_.one_of(seen_.of<RRefId>()).text();
      case 2: return seen_.of<OptimizerId>().empty() ? "" : "shard/" + dice_.one_of(seen_.of<OptimizerId>()).text();
      default: return "";
    }
  }

  void say() {
    const NodeName from = some_peer();
    ++reached_.said;
    const bool asks = dice_.chance(60);
    const msg::AnyMessage message = some_message(from, asks ? msg::Kind::request : msg::Kind::notification);
    if (asks) {
      (void)peers_.at(from)->ask("m", some_actor(), message);
    } else {
      peers_.at(from)->say("m", some_actor(), message);
    }
  }

  void answer() {
    if (asked_.empty()) return;
    const std::size_t which = dice_.below(asked_.size());
    const Asked asked = asked_[which];
    if (!dice_.chance(20)) asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(which));
    BarePeer& peer = *peers_.at(asked.by);
    if (!peer.is_up("m")) return;
    ++reached_.said;
    peer.answer("m", asked.request, dice_.chance(70) ? right_answer(asked) : some_message(asked.by, msg::Kind::reply));
  }

  /// As the program that `asked` for it expects, more or less.
  msg::AnyMessage right_answer(const Asked& asked) {
    const msg::AnyMessage& request = asked.request.message;
    msg::AnyMessage reply = some_message(asked.by, msg::Kind::reply);
    if (const auto* call = request.get_if<msg::Call>()) {
      reply = msg::Reply{call->arguments};
    } else if (const auto* remote = request.get_if<msg::RemoteCall>()) {
      reply = msg::RRefCreated{remote->rref};
    } else if (request.holds<msg::RRefFetch>()) {
      reply = msg::Reply{to_payload(nullptr, ones({2}))};
    } else if (const auto* mark = request.get_if<msg::BackwardMark>()) {
      reply = msg::BackwardMarked{mark->context, mark->pass, {asked.by}, std::nullopt};
    } else if (const auto* release = request.get_if<msg::BackwardRelease>()) {
      reply = msg::BackwardReleased{release->pass};
    } else if (const auto* create = request.get_if<msg::ShardCreate>()) {
      reply = msg::ShardCreated{create->optimizer, peers_.at(asked.by)->life().incarnation};
    } else if (const auto* prepare = request.get_if<msg::ShardPrepare>()) {
      reply = msg::ShardPrepared{prepare->step, 1};
    } else if (const auto* commit = request.get_if<msg::ShardCommit>()) {
      reply = msg::ShardStepped{commit->step, 1};
    }
    const std::vector<NodeLife> lives = lives_from(asked.by);
    Mutate some(dice_, seen_, lives, 3);
    reply.visit([&](auto& m) { m.serialize(some); });
    return reply;
  }

  /// What a program does. Whatever fails, fails by an exception.
  void work() try {
    const Scope& scope = contexts_.empty() || dice_.chance(30) ? static_cast<const Scope&>(*node)
                                                               : static_cast<const Scope&>(*dice_.one_of(contexts_));
    const Variable x(ones({2}), RequiresGrad::yes);
    switch (dice_.below(10)) {
      case 0: contexts_.push_back(std::make_shared<DistContext>(*node)); break;
      case 1: keep(scope.rpc_async(some_peer(), &served_scale, x)); break;
      case 2: keep(scope.rpc_async(some_peer(), &served_echo, ones({3}))); break;
      case 3: values_.push_back(scope.remote(some_peer(), &served_leaf, ones({2}))); break;
      case 4: values_.push_back(RRef<Variable>(*node, x)); break;
      case 5:
        if (!values_.empty()) keep(scope.rpc_async(some_peer(), &served_pass_on, dice_.one_of(values_)));
        break;
      case 6:
        if (!contexts_.empty()) backward_of(*dice_.one_of(contexts_), x);
        break;
      case 7:
        if (!values_.empty()) keep(dice_.one_of(values_).to_here_async(scope));
        break;
      case 8:
        if (!values_.empty()) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(dice_.below(values_.size())));
        break;
      default:
        if (!contexts_.empty()) contexts_.erase(contexts_.begin());
        break;
    }
  } catch (const std::exception&) {
  }

  void backward_of(const DistContext& context, const Variable& x) {
    std::vector<Root> roots{Root(sum(x * 3.0))};
    if (!values_.empty() && dice_.chance(50)) roots.emplace_back(dice_.one_of(values_));
    DistBackwardOptions options;
    if (dice_.chance(30)) options.graph = Graph::release;
    keep(backward_async(context, roots, options));
  }

  template <class T>
  void keep(Future<T> future) {
    waits_for_.push_back(std::make_shared<Future<T>>(std::move(future)));
    if (dice_.chance(10)) waits_for_.erase(waits_for_.begin());
  }

  Dice dice_;
  Reached reached_;
  SeenIds seen_;
  Collect collect_{seen_};
  std::map<NodeName, std::unique_ptr<BarePeer>> peers_;
  std::uint64_t last_life_ = 0;
  std::vector<Asked> asked_;
  std::vector<msg::AnyMessage> calls_;  ///< of the node, which its peers repeat
  std::vector<std::shared_ptr<DistContext>> contexts_;
  std::vector<RRef<Variable>> values_;
  std::vector<std::shared_ptr<void>> waits_for_;
};

/// The same, where "m" trains a value of the node "h" meanwhile. The peers were never told of it.
class TrainingWorld final : public HostileWorld {
 public:
  explicit TrainingWorld(std::uint64_t seed) : HostileWorld(seed, 0) {
    auto link = std::make_unique<MemoryLink>(hub, "h", Incarnation{8, 8});
    MemoryLink& to_m = *link;
    honest_ = std::make_unique<Node>(detail::NodeParts{"h",
                                                       {8, 8},
                                                       1,
                                                       hostile_functions().table(),
                                                       clock,
                                                       std::make_shared<HandPool>(),
                                                       std::move(link),
                                                       detail::make_inline_host,
                                                       Leaks::warn});
    to_m.connect("memory://m");
    weight_.emplace(node->remote("h", &served_leaf, ones({2})));
    optimizer_.emplace(*node, optim::SgdOptions{.lr = 0.5}, std::vector{*weight_});
  }

  /// Trains `steps` times, with up to 20 steps of the peers in between.
  void train(std::size_t steps) {
    for (std::size_t i = 1; i <= steps; ++i) {
      play(dice().below(20));
      pool->keeps = false;
      run_kept();
      DistContext context(*node);
      play(dice().below(5));
      pool->keeps = false;
      run_kept();
      const Variable x(full({2}, 2.0));
      backward(context, sum(weight_->rpc_sync(context, &served_weigh, x)));
      optimizer_->step(context);
      const Tensor now = weight_->to_here(*node).value();
      const float expected = 1.0F - static_cast<float>(i);  // exactly: the rate is 0.5, the gradient 2
      BOOST_REQUIRE_EQUAL(now.data<float>()[0], expected);
      BOOST_REQUIRE_EQUAL(now.data<float>()[1], expected);
    }
  }

 private:
  std::unique_ptr<Node> honest_;
  std::optional<RRef<Variable>> weight_;
  std::optional<DistOptimizer> optimizer_;
};

BOOST_AUTO_TEST_SUITE(hostile_peers, *boost::unit_test::label("attack") * boost::unit_test::label("fault-F42"))

/// The seeds of a test: `sim_scenarios_test --run_test=hostile_peers -- 10000` plays so many worlds, `-- 1 17` the one
/// of seed 17.
std::vector<std::uint64_t> peer_seeds(std::uint64_t count) {
  const auto& words = boost::unit_test::framework::master_test_suite();
  if (words.argc > 1) count = std::strtoull(words.argv[1], nullptr, 10);
  const std::uint64_t first = words.argc > 2 ? std::strtoull(words.argv[2], nullptr, 10) : 0;
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

BOOST_AUTO_TEST_CASE(members_that_say_anything_end_nothing_and_leave_nothing) {
  Reached reached;
  for (const std::uint64_t seed : peer_seeds(60)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      // A third each: the node admits members, others do, it is no member yet.
      const auto rank = static_cast<std::uint32_t>(seed % 3);
      HostileWorld world(seed, rank == 2 ? std::nullopt : std::optional(rank));
      world.play(200);
      reached.add(world.reached());
      BOOST_TEST(world.rest_of_it() == "");
    }
  }
  if (reached.said > 1000) reached.check();  // a few seeds need not reach every part
}

BOOST_AUTO_TEST_CASE(training_among_members_that_say_anything_is_right) {
  for (const std::uint64_t seed : peer_seeds(15)) {
    BOOST_TEST_CONTEXT("seed " << seed) { TrainingWorld(seed).train(20); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
