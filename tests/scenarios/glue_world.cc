#include "tests/scenarios/glue_world.h"

#include <fmt/format.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/core/promise_guard.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/node.h"
#include "node/sim/baton_thread.h"
#include "node/sim/log_in_trace.h"
#include "node/sim/sim_clock.h"
#include "node/sim/sim_executor.h"
#include "node/sim/sim_host.h"
#include "node/sim/sim_link.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tests/scenarios/training_functions.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kActions = 8;          // actions per program
constexpr std::uint64_t kTroubleSpan = 900;  // number of steps in which faults occur

/// Counts its live copies on all nodes, and the additions to any of them.
struct Table {
  explicit Table(double v) : value(v) { ++alive; }
  Table() : Table(0) {}
  Table(const Table& other) : value(other.value) { ++alive; }
  Table& operator=(const Table&) = default;
  ~Table() { --alive; }
  void add(double x) {
    value += x;
    ++adds;
  }
  [[nodiscard]] double read() const { return value; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
  double value;
  static inline int alive = 0;
  static inline int adds = 0;
  static inline int asked = 0;
  static inline int answered = 0;
};

/// The ballast makes the call large, so that small messages overtake it.
void hand_on(Scope& scope, const RRef<Table>& table, std::vector<NodeName> path, const Tensor& ballast) {
  if (path.empty()) return static_cast<void>(table.rpc_async(scope, &Table::read));
  const NodeName next = path.back();
  path.pop_back();
  static_cast<void>(scope.rpc_async(next, &hand_on, table, path, ballast));
}

std::vector<RRef<Table>> keep(const RRef<Table>& table, const Tensor& /*ballast*/) { return {table, table}; }
RRef<Table> give_back(RRef<Table> table) { return table; }

/// Returns x multiplied by 2 at each node of the path.
Variable through(Scope& scope, const Variable& x, std::vector<NodeName> path, const Tensor& ballast) {
  const Variable y = mul(x, 2.0);
  if (path.empty()) return y;
  const NodeName next = path.back();
  path.pop_back();
  return scope.rpc_sync(next, &through, y, path, ballast);
}

FunctionRegistry functions() {
  return training_functions().with({{"Table", constructor<Table, double>},
                                    {"Table::add", &Table::add},
                                    {"Table::read", &Table::read},
                                    {"hand_on", &hand_on},
                                    {"keep", &keep},
                                    {"give_back", &give_back},
                                    {"through", &through}});
}

/// What any node may see at any time: some nodes know a newcomer before others do.
const std::set<ErrorCode> kOfNewcomers{ErrorCode::not_joined};
/// What a death, a stop or an interrupted hand-over explains.
const std::set<ErrorCode> kOfDeaths{
    ErrorCode::peer_down,       ErrorCode::peer_restarted,   ErrorCode::cancelled,    ErrorCode::shutting_down,
    ErrorCode::owner_died,      ErrorCode::ref_revoked,      ErrorCode::step_unknown, ErrorCode::not_joined,
    ErrorCode::context_aborted, ErrorCode::step_not_applied,
};

/// Returns whether the error, or for nested calls its cause, is one of `codes`.
bool is_one_of(const Error& error, const std::set<ErrorCode>& codes) {
  if (codes.contains(error.code)) return true;
  return error.code == ErrorCode::remote_exception && std::ranges::any_of(codes, [&](ErrorCode code) {
           return error.text().find(std::string(name_of(code)) + ":") != std::string::npos;
         });
}

/// The actions of one node during its life. `is_anybody_gone`: whether a life has been killed, stopped or refused.
class Program {
 public:
  Program(Node& node, sim::Choices& choices, GlueSeen& seen, std::vector<std::string>& problems,
          const bool& is_anybody_gone)
      : node_(node), choices_(choices), seen_(seen), problems_(problems), is_anybody_gone_(is_anybody_gone) {}

  void run() {
    for (std::size_t i = 0; i < kActions; ++i) {
      attempt([this] { act(); });
    }
    for (const Add& add : adds_) {
      const auto get = [&] {
        add.end.get();
        ++Table::answered;
      };
      attempt(get, add.is_cancelled);
    }
  }

 private:
  struct Add {
    Future<void> end;
    bool is_cancelled = false;  // by this program
  };

  template <class Action>
  void attempt(Action action, bool is_cancelled = false) {
    try {
      action();
      ++seen_.ends["ok"];
    } catch (const RemoteError& error) {
      ++seen_.ends[std::string(name_of(error.code()))];
      const bool is_explained = (is_cancelled && error.code() == ErrorCode::cancelled) ||
                                is_one_of(error.error(), is_anybody_gone_ ? kOfDeaths : kOfNewcomers);
      expect(is_explained, (is_anybody_gone_ ? "" : "while all are up: ") + error.error().text());
    }
    if (!is_anybody_gone_) ++seen_.undisturbed;
  }

  void expect(bool holds, const std::string& otherwise) {
    if (!holds) problems_.push_back(node_.name() + ": " + otherwise);
  }

  void act() {
    switch (choices_.below(9)) {
      case 0:
      case 1: tables_.push_back(node_.remote(anybody(), constructor<Table, double>, 0.5)); break;
      case 2:
        if (RRef<Table>* table = any_table())
          static_cast<void>(node_.rpc_async(anybody(), &hand_on, *table, path(), ballast()));
        break;
      case 3:
        if (RRef<Table>* table = any_table()) {
          ++Table::asked;
          adds_.push_back({table->rpc_async(node_, &Table::add, 1.0), choices_.below(4) == 0});
          if (adds_.back().is_cancelled) adds_.back().end.cancel();
        }
        break;
      case 4:
        if (RRef<Table>* table = any_table()) {
          ++Table::asked;
          table->rpc_sync(node_, &Table::add, 1.0);
          ++Table::answered;
          expect(table->cached(node_)->read() >= 1.5, "who made a change does not see it");
        }
        break;
      case 5:
        if (RRef<Table>* table = any_table()) {
          kept_.push_back(node_.remote(anybody(), &keep, *table, ballast()));
          if (choices_.below(2) == 0) tables_.push_back(node_.rpc_sync(anybody(), &give_back, *table));
        }
        break;
      case 6: drop(); break;
      case 7: differentiate(); break;
      case 8: train(); break;
    }
  }

  void differentiate() {
    DistContext context(node_);
    const Variable x(full({1}, 0.5), RequiresGrad::yes);
    const std::vector<NodeName> further = path();
    const Variable y = context.rpc_sync(anybody(), &through, x, further, ballast());
    if (choices_.below(4) == 0) return;
    backward(context, sum(y));
    const double expected = static_cast<double>(std::uint64_t{2} << further.size());
    const double gradient = context.grad(x).item<double>();
    expect(gradient == expected, fmt::format("a gradient is {}, not {}", gradient, expected));
    ++seen_.gradients;
  }

  void train() {
    const Parameter w0 = node_.remote(anybody(), &make_parameter, 1, 1.0);
    const Parameter w1 = node_.remote(anybody(), &make_parameter, 1, 1.0);
    const DistOptimizer optimizer(node_, optim::SgdOptions{.lr = 1.0}, {w0, w1});
    for (std::uint64_t left = choices_.below(3); left > 0; --left) {
      DistContext context(node_);
      const Variable x(full({1}, 0.5), RequiresGrad::yes);
      const Variable y = add(context.rpc_sync(w0.owner(), &scale, x, w0), context.rpc_sync(w1.owner(), &scale, x, w1));
      backward(context, sum(y));
      optimizer.step(context);
      ++seen_.steps_taken;
    }
  }

  void drop() {
    if (!kept_.empty() && choices_.below(2) == 0) return kept_.pop_back();
    if (!tables_.empty()) tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(choices_.below(tables_.size())));
  }

  [[nodiscard]] RRef<Table>* any_table() {
    return tables_.empty() ? nullptr : &tables_[choices_.below(tables_.size())];
  }
  [[nodiscard]] NodeName anybody() {
    const std::vector<Peer> members = node_.members();
    return members[choices_.below(members.size())].name;
  }
  [[nodiscard]] std::vector<NodeName> path() {
    std::vector<NodeName> names(choices_.below(3));
    for (NodeName& name : names) name = anybody();
    return names;
  }
  [[nodiscard]] Tensor ballast() { return zeros({choices_.below(2) == 0 ? 1 : 20'000}); }

  Node& node_;
  sim::Choices& choices_;
  GlueSeen& seen_;
  std::vector<std::string>& problems_;
  const bool& is_anybody_gone_;
  std::vector<RRef<Table>> tables_;
  std::vector<RRef<std::vector<RRef<Table>>>> kept_;
  std::vector<Add> adds_;
};

/// One life of a node. Link and host belong to the node.
struct Life {
  NodeName name;
  std::shared_ptr<sim::SimClock> clock;
  std::shared_ptr<sim::SimExecutor> executor;
  sim::SimLink* link = nullptr;
  detail::ActorHost* host = nullptr;
  bool is_up = true;           // neither killed nor stopped
  bool is_dead = false;        // killed, or taken down at the end
  bool is_in = false;          // a member
  bool is_done = false;        // its program has ended
  std::unique_ptr<Node> node;  // last member, because it uses the others
};

/// Also the hook of the world's own thread: while that waits, the world runs.
class GlueWorld final : private detail::BlockingHook {
 public:
  GlueWorld(std::uint64_t seed, GlueSeen& seen)
      : seed_(seed),
        seen_(seen),
        schedule_(std::make_shared<sim::Schedule>(seed, 2us)),
        processor_(std::make_shared<sim::Processor>()),
        threads_(std::make_shared<sim::BatonThreads>(schedule_, processor_)),
        log_(schedule_),
        network_(std::make_shared<sim::SimNetwork>(schedule_, sim::LinkFaults{.reorder = 0.5, .delay_mean = 500us})),
        guard_(*this) {}

  ~GlueWorld() {
    for (Life& life : lives_) kill(life);
    seen_.steps += schedule_->steps();
    seen_.reordered += network_->counts().reordered;
    for (const Life& life : lives_)
      BOOST_TEST(life.host->system().registry().running() == 0U, "actors are left on " << life.name);
    schedule_->end();
    threads_->clear();
  }

  void play() {
    const sim::Processor::Stay stay(*processor_);
    for (const char* name : {"n0", "n1", "n2"}) start(name);
    draw_troubles();
    require(run([this] { return std::ranges::all_of(lives_, &Life::is_done); }, 300s), "a program hangs");
    require(problems_.empty(), problems_.empty() ? "" : problems_.front());
    troubles_.clear();
    run([this] { return left().empty(); }, 14s);
    require(left().empty(), "left: " + left());
    is_leaving_ = true;
    for (Life& life : lives_) {
      if (life.is_up) begin(life, [this, &life] { leave(life); });
    }
    if (choices().below(2) == 0) draw_death();
    if (choices().below(2) == 0) {  // a late newcomer is admitted, or told that the others have gone
      run([left = choices().below(400)]() mutable { return left-- == 0; }, 1s);
      start("n9");
    }
    require(run([this] { return std::ranges::all_of(lives_, &Life::is_done); }, 12s), "a shutdown hangs");
    require(problems_.empty(), problems_.empty() ? "" : problems_.front());
  }

 private:
  enum class Kind : std::uint8_t { kill, kill_silently, stop, start };
  struct Trouble {
    std::uint64_t step = 0;
    Kind kind = Kind::kill;
    NodeName node;
  };

  [[nodiscard]] sim::Choices& choices() { return schedule_->choices(); }

  void require(bool holds, const std::string& what) {
    if (holds) return;
    std::string programs;
    for (const Life& life : lives_) {
      if (!life.is_done) programs += fmt::format(" {}{}", life.name, life.is_up ? "" : " (gone)");
    }
    std::cerr << last_steps();
    throw std::runtime_error(fmt::format("seed {}: {}; not done:{}", seed_, what, programs));
  }

  /// Returns the last steps, without periodic ones.
  [[nodiscard]] std::string last_steps() const {
    std::istringstream all(schedule_->trace().text(20000));
    std::deque<std::string> lines;
    for (std::string line; std::getline(all, line);) {
      if (line.find("pulse") == std::string::npos && line.find("heartbeat") == std::string::npos) lines.push_back(line);
      if (lines.size() > 400) lines.pop_front();
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    const TimePoint limit = due.value_or(schedule_->now() + 10min);
    while (!point.signalled() && schedule_->step(limit)) {
    }
    return point.signalled();
  }

  /// Runs until `condition` holds, which is checked between any two steps.
  template <class Condition>
  bool run(Condition condition, Duration limit) {
    const TimePoint due = schedule_->now() + limit;
    while (!condition()) {
      make_trouble();
      if (!schedule_->step(due)) return condition();
    }
    return true;
  }

  void draw_troubles() {
    const auto at = [this] { return choices().below(kTroubleSpan); };
    for (std::uint64_t left = choices().below(4); left > 0; --left) {
      const NodeName victim = fmt::format("n{}", choices().below(3));
      const std::uint64_t step = at();
      const std::uint64_t how = choices().below(6);
      troubles_.push_back({step, how == 0 ? Kind::kill_silently : how < 3 ? Kind::stop : Kind::kill, victim});
      if (choices().below(3) > 0) troubles_.push_back({step + at() / 4, Kind::start, victim});
    }
    if (choices().below(2) == 0) troubles_.push_back({at(), Kind::start, "n3"});
  }

  /// One of those that leave dies meanwhile, unless all have left by then.
  void draw_death() {
    const NodeName victim = fmt::format("n{}", choices().below(3));
    const std::uint64_t step = schedule_->steps() + choices().below(100);
    troubles_.push_back({step, choices().below(3) == 0 ? Kind::kill_silently : Kind::kill, victim});
  }

  void make_trouble() {
    const auto due =
        std::ranges::find_if(troubles_, [this](const Trouble& trouble) { return trouble.step <= schedule_->steps(); });
    if (due == troubles_.end()) return;
    const Trouble trouble = *due;
    troubles_.erase(due);
    if (trouble.kind == Kind::start) return start(trouble.node);
    Life* life = life_of(trouble.node);
    if (life == nullptr) return;
    life->is_up = false;
    is_anybody_gone_ = true;
    if (is_leaving_ && !life->is_done) ++seen_.killed_leaving;
    schedule_->remark(trouble.node, trouble.kind == Kind::stop   ? "is stopped"
                                    : trouble.kind == Kind::kill ? "is killed"
                                                                 : "is killed, silently");
    if (trouble.kind == Kind::stop) {
      ++seen_.stopped;
      life->node->stop();
    } else {
      ++seen_.killed;
      kill(*life, trouble.kind == Kind::kill ? sim::Death::closed : sim::Death::silent);
    }
  }

  [[nodiscard]] Life* life_of(const NodeName& name) {
    const auto life = std::ranges::find_if(lives_, [&](const Life& one) { return one.is_up && one.name == name; });
    return life == lives_.end() ? nullptr : &*life;
  }

  void start(const NodeName& name) {
    if (life_of(name) != nullptr) return;
    const std::vector<detail::Seed> seeds = seed_for(name);
    ++seen_.lives;
    const bool comes_back = std::ranges::any_of(lives_, [&](const Life& life) { return life.name == name; });
    Life& life = lives_.emplace_back();
    life.name = name;
    life.clock = std::make_shared<sim::SimClock>(schedule_, name);
    life.executor = std::make_shared<sim::SimExecutor>(schedule_, threads_, name);
    const Incarnation incarnation{choices().bits(), choices().bits()};
    auto link = std::make_unique<sim::SimLink>(network_, name, incarnation);
    life.link = link.get();
    life.node = std::make_unique<Node>(detail::NodeParts{name, incarnation, std::nullopt, functions().table(),
                                                         life.clock, life.executor, std::move(link), [this, &life] {
                                                           auto host = sim::make_sim_host(schedule_, life.name);
                                                           life.host = host.get();
                                                           return host;
                                                         }});
    life.node->core().hold_calls();  // as Node::join does
    detail::Membership& membership = life.node->core().membership();
    seeds.empty() ? membership.found({}) : membership.join(seeds, {});
    begin(life, [this, &life, comes_back, count = seeds.size() + 1] { live(life, comes_back, count); });
  }

  /// Returns a member, if there is one.
  [[nodiscard]] std::vector<detail::Seed> seed_for(const NodeName& name) {
    std::vector<const Life*> members;
    for (const Life& life : lives_) {
      if (life.is_up && (life.is_in || members.empty())) members.push_back(&life);
    }
    if (members.empty()) return {};
    schedule_->remark(name, "joins");
    return {{members[choices().below(members.size())]->node->address()}};
  }

  void begin(Life& life, std::function<void()> program) {
    life.is_done = false;
    life.executor->begin_program("program", [&life, program = std::move(program)] {
      const detail::WhenGone done([&life] { life.is_done = true; });
      program();
    });
  }

  void live(Life& life, bool comes_back, std::size_t count) {
    detail::Membership& membership = life.node->core().membership();
    const auto refused =
        membership.wait_for_members(count, schedule_->now() + 20s, detail::Membership::Until::we_are_in);
    if (refused) {  // a program would end, or retry as another life
      life.name == "n9" ? ++seen_.too_late : ++seen_.refused;
      if (!is_anybody_gone_ && life.name != "n9") problems_.push_back("refused while all are up: " + refused->text());
      is_anybody_gone_ = true;
      life.is_up = false;
      life.node->stop();
      return;
    }
    life.node->core().release_calls();
    life.is_in = true;
    if (comes_back) ++seen_.came_back;
    if (life.name == "n9") return leave(life);
    Program(*life.node, choices(), seen_, problems_, is_anybody_gone_).run();
  }

  void leave(Life& life) {
    const ShutdownReport report = life.node->shutdown();
    if (!report.clean()) problems_.push_back(life.name + " left others behind");
  }

  /// Kills a life as a crash does: none of its messages arrives any more.
  void kill(Life& life, sim::Death death = sim::Death::closed) {
    if (std::exchange(life.is_dead, true)) return;
    life.is_up = false;
    life.link->kill(death);
    life.clock->kill();
    schedule_->drop_events(life.name);
    life.executor->kill();
    sim::handle_at_once(*life.host);
    static_cast<void>(life.node->stop());
    life.executor->unwind();
    life.is_done = true;
  }

  /// Returns leftovers that no node needs or that not all nodes know; empty if there are none.
  [[nodiscard]] std::string left() const {
    std::vector<NodeName> names;
    for (const Life& life : lives_) {
      if (life.is_up) names.push_back(life.name);
    }
    std::ranges::sort(names);
    for (const Life& life : lives_) {
      if (!life.is_up) continue;
      const detail::NodeCore& core = life.node->core();
      if (const auto failure = core.failure()) return life.name + " has failed: " + failure->text();
      const detail::NodeCounts counts = core.counts();
      if (!(counts == detail::NodeCounts{}) || core.references().forks() > 0) {
        return fmt::format(
            "{}: {} requests, {} served, {} waiting, {} values, {} handles, {} forks, {} contexts, {} shards",
            life.name, counts.pending_requests, counts.served_calls, counts.waiting_calls, counts.owned_values,
            counts.handles, core.references().forks(), counts.contexts, counts.shards);
      }
      for (const auto& [peer, holdings] : core.accounts().list()) {
        if (holdings.owners + holdings.forks + holdings.contexts > 0)
          return life.name + " counts something for " + peer;
      }
      std::vector<NodeName> known;
      std::set<std::uint32_t> ranks;
      for (const WorkerInfo& info : core.membership().infos()) {
        known.push_back(info.name);
        ranks.insert(info.rank);
      }
      std::ranges::sort(known);
      if (known != names || ranks.size() != names.size())
        return fmt::format("{} knows {}", life.name, fmt::join(known, " "));
    }
    return Table::alive == 0 ? "" : fmt::format("{} tables", Table::alive);
  }

  const std::uint64_t seed_;
  GlueSeen& seen_;
  const std::shared_ptr<sim::Schedule> schedule_;
  const std::shared_ptr<sim::Processor> processor_;
  const std::shared_ptr<sim::BatonThreads> threads_;
  const sim::LogInTrace log_;
  const std::shared_ptr<sim::SimNetwork> network_;
  const detail::BlockingHook::Guard guard_;
  std::deque<Life> lives_;
  std::vector<Trouble> troubles_;
  std::vector<std::string> problems_;  // found by the programs
  bool is_anybody_gone_ = false;       // whether a life has been killed, stopped or refused
  bool is_leaving_ = false;            // whether the shutdowns have begun
};

}  // namespace

void play_glue(std::uint64_t seed, GlueSeen& seen) {
  BOOST_TEST_CONTEXT("seed " << seed) {
    {
      GlueWorld world(seed, seen);
      world.play();
    }
    BOOST_TEST(Table::alive == 0);
    BOOST_TEST(Table::adds <= Table::asked);     // no request ran twice,
    BOOST_TEST(Table::adds >= Table::answered);  // and every answered request ran
    Table::alive = Table::adds = Table::asked = Table::answered = 0;
  }
}

}  // namespace troupe::testing
