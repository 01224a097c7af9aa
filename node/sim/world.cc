#include "node/sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/membership/membership.h"
#include "node/node_name.h"
#include "node/sim/log_in_trace.h"
#include "node/sim/sim_clock.h"
#include "node/sim/sim_executor.h"
#include "node/sim/sim_host.h"
#include "node/sim/sim_link.h"

namespace troupe::sim {
namespace {

constexpr std::chrono::seconds kStartLimit{60};
constexpr std::size_t kLinesOfAFailure = 50;

/// The parts of one node of the world. Its link and host belong to the node.
struct Place {
  std::shared_ptr<SimClock> clock;
  std::shared_ptr<SimExecutor> executor;
  SimLink* link = nullptr;
  detail::ActorHost* host = nullptr;
  bool alive = true;
  std::unique_ptr<Node> node;  // last: it uses the others
};

struct Killing {
  std::uint64_t step = 0;  // the earliest step
  NodeName node;
  Death death = Death::closed;
};

void check(const WorldOptions& options, const std::vector<NodeName>& names) {
  for (const double chance : {options.link.drop, options.link.duplicate, options.link.reorder}) {
    if (!(chance >= 0 && chance < 1))
      throw std::invalid_argument(fmt::format("[World] {} is no chance below 1", chance));
  }
  if (std::min(options.link.delay_mean, options.wait_max) < Duration(0)) {
    throw std::invalid_argument("[World] a time is negative");
  }
  if (options.step_max < Duration(1)) {
    throw std::invalid_argument(
        fmt::format("[World] step_max of {} ns: below 1 ns, time stands still while a function polls",
                    std::chrono::nanoseconds(options.step_max).count()));
  }
  if (options.pool_threads_max == 0) throw std::invalid_argument("[World] pool_threads_max is 0");
  if (options.report_after < Duration(1)) throw std::invalid_argument("[World] report_after is not positive");
  std::set<std::string_view> seen;
  for (const NodeName& name : names) {
    if (!is_valid_node_name(name)) throw std::invalid_argument(fmt::format("[World] \"{}\" is not a node name", name));
    if (!seen.insert(name).second)
      throw std::invalid_argument(fmt::format("[World] the name \"{}\" is given twice", name));
  }
}

/// The hook of a thread that has made worlds. During its waits the newest of them continues.
class NewestWorld final : public detail::BlockingHook {
 public:
  void add(detail::BlockingHook& world) {
    if (worlds_.empty()) guard_.emplace(*this);
    worlds_.push_back(&world);
  }
  void remove(const detail::BlockingHook& world) {
    std::erase(worlds_, &world);
    if (worlds_.empty()) guard_.reset();
  }

 private:
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    return worlds_.back()->wait(point, due);
  }

  std::vector<detail::BlockingHook*> worlds_;  // the newest last
  std::optional<Guard> guard_;                 // while there are any
};

thread_local NewestWorld newest_world;

/// While one lives, a function or an actor of the world has the baton.
class Stepping {
 public:
  explicit Stepping(bool& stepping) : stepping_(stepping), before_(std::exchange(stepping, true)) {}
  ~Stepping() { stepping_ = before_; }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;

 private:
  bool& stepping_;
  const bool before_;
};

/// Lets the thread's waits continue a world during the guard's lifetime.
class AmongWorlds {
 public:
  explicit AmongWorlds(detail::BlockingHook& world) : world_(world) { newest_world.add(world_); }
  ~AmongWorlds() { newest_world.remove(world_); }
  AmongWorlds(const AmongWorlds&) = delete;
  AmongWorlds& operator=(const AmongWorlds&) = delete;

 private:
  detail::BlockingHook& world_;
};

}  // namespace

/// During the waits of its thread the world continues.
struct World::State final : detail::BlockingHook {
  explicit State(WorldOptions o)
      : options(o),
        schedule(std::make_shared<Schedule>(o.seed, o.step_max)),
        processor(std::make_shared<Processor>()),
        threads(std::make_shared<BatonThreads>(schedule, processor, o.report_after)),
        network(std::make_shared<SimNetwork>(schedule, o.link)),
        log(schedule),
        guard(*this) {}
  /// Ends the world, also one that could not start: what is scheduled owns the schedule.
  ~State() override;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override;
  bool advance(TimePoint limit);
  void start(const NodeName& name, std::uint32_t rank, const FunctionRegistry& functions);
  Place& place(std::string_view name);
  void kill(Place& place, Death death);
  /// Throws std::logic_error, naming `operation`, in a function: there the world runs already.
  void require_outside(std::string_view operation) const;
  [[nodiscard]] bool idle() const;
  /// Returns the time after `duration`; the last one that there is if it is no limit, or beyond the clock.
  [[nodiscard]] TimePoint time_after(Deadline duration) const {
    const std::optional<Duration> after = duration.after();
    return after ? later(schedule->now(), *after).value_or(TimePoint::max()) : TimePoint::max();
  }

  const WorldOptions options;
  const std::shared_ptr<Schedule> schedule;
  const std::shared_ptr<Processor> processor;
  const std::shared_ptr<BatonThreads> threads;
  const std::shared_ptr<SimNetwork> network;
  const LogInTrace log;
  const AmongWorlds guard;
  std::map<NodeName, Place, std::less<>> places;
  std::vector<Killing> killings;
  WorldCounts own_counts;
  bool stepping = false;  // written by Stepping
};

World::State::~State() {
  for (auto& [name, place] : places) {
    if (place.node) kill(place, Death::silent);
  }
  schedule->end();
  threads->clear();
}

bool World::State::wait(detail::WaitPoint& point, std::optional<TimePoint> due) {
  if (stepping) throw std::logic_error("[sim] an actor waited: handlers never do");
  const Processor::Stay stay(*processor);
  TimePoint limit = due.value_or(time_after(options.wait_max));
  if (limit <= schedule->now()) limit = time_after(options.step_max);  // or time stands still while this thread polls
  while (!point.signalled() && advance(limit)) {
  }
  if (point.signalled() || due) return point.signalled();
  throw std::runtime_error(fmt::format("[sim] seed {}: nothing ended a wait within {} s of virtual time\n{}",
                                       options.seed,
                                       std::chrono::duration_cast<std::chrono::seconds>(options.wait_max).count(),
                                       schedule->trace().text(kLinesOfAFailure)));
}

/// Does one step, after the due kills.
bool World::State::advance(TimePoint limit) {
  for (std::size_t i = 0; i < killings.size();) {
    if (killings[i].step > schedule->steps()) {
      ++i;
      continue;
    }
    const Killing killing = killings[i];
    killings.erase(killings.begin() + static_cast<std::ptrdiff_t>(i));
    kill(place(killing.node), killing.death);
  }
  const Stepping guarded(stepping);
  return schedule->step(limit);
}

void World::State::start(const NodeName& name, std::uint32_t rank, const FunctionRegistry& functions) {
  Place& place = places[name];
  place.clock = std::make_shared<SimClock>(schedule, name);
  place.executor = std::make_shared<SimExecutor>(schedule, threads, name, options.pool_threads_max);
  const Incarnation incarnation{schedule->choices().bits(), schedule->choices().bits()};
  auto link = std::make_unique<SimLink>(network, name, incarnation, options.silence);
  place.link = link.get();
  detail::NodeParts parts{name, incarnation, rank, functions.table(), place.clock, place.executor, std::move(link), {}};
  parts.make_host = [this, &place, name] {
    auto host = make_sim_host(schedule, name);
    place.host = host.get();
    return host;
  };
  parts.id_secrets = detail::IdSecrets::known(incarnation);
  place.node = std::make_unique<Node>(std::move(parts));
}

Place& World::State::place(std::string_view name) {
  const auto found = places.find(name);
  if (found == places.end()) throw std::out_of_range(fmt::format("[World] no node \"{}\"", name));
  return found->second;
}

void World::State::kill(Place& place, Death death) {
  if (!std::exchange(place.alive, false)) return;
  const NodeName& name = place.node->name();
  schedule->remark(name, death == Death::closed ? "is killed" : "is killed, silently");
  ++own_counts.killed;
  place.link->kill(death);  // first: nothing that follows reaches another node
  place.clock->kill();
  schedule->drop_events(name);
  place.executor->kill();
  handle_at_once(*place.host);  // if it had begun to stop, all its requests have answers by that
  const auto unwind = [&] {
    const Stepping guarded(stepping);
    own_counts.unwound += place.executor->unwind();
  };
  // Before stop(), which waits for the stop() that such a function is in.
  if (place.node->core().stopped()) unwind();
  static_cast<void>(place.node->stop());  // so that every wait on it has an answer
  unwind();
  own_counts.actors_left += place.host->system().registry().running();
}

void World::State::require_outside(std::string_view operation) const {
  if (!stepping) return;
  throw std::logic_error(
      fmt::format("[World] {} is called in a function: the world runs already; wait on a future instead", operation));
}

bool World::State::idle() const {
  return std::ranges::all_of(places, [](const auto& entry) {
    const Place& place = entry.second;
    return !place.alive || (place.executor->count() == 0 && place.node->counts().pending_requests == 0);
  });
}

World::World(WorldOptions options, const std::vector<NodeName>& names, const FunctionRegistry& functions) {
  check(options, names);
  state_ = std::make_unique<State>(options);
  std::uint32_t rank = 0;
  for (const NodeName& name : names) {
    state_->start(name, rank++, functions);
    for (auto& [other, place] : state_->places) {
      if (other != name) state_->place(name).node->core().link().connect(place.node->address());
    }
  }
  for (const NodeName& name : names) {
    detail::NodeCore& core = state_->place(name).node->core();
    if (const auto error = core.membership().wait_for_members(names.size(), core.clock().now() + kStartLimit)) {
      throw RemoteError(*error);
    }
  }
}

World::~World() = default;

Node& World::node(std::string_view name) { return *state_->place(name).node; }

bool World::is_alive(std::string_view name) const { return state_->place(name).alive; }

Error World::killed(std::string_view name) {
  Error error = node(name).core().error(ErrorCode::peer_down, node(name).name(), "on", "the node was killed");
  error.incarnation = node(name).core().incarnation();
  return error;
}

void World::require_alive(const Node& node) const {
  if (!is_alive(node.name())) throw NodeKilled{};
}

void World::begin(std::string_view name, std::function<void(Node&)> body) {
  Place& place = state_->place(name);
  place.executor->begin_program("program", [body = std::move(body), node = place.node.get()] { body(*node); });
}

bool World::run(Deadline limit) {
  state_->require_outside("run");
  return step_until([this] { return state_->idle(); }, limit);
}

void World::run_for(Deadline duration) {
  state_->require_outside("run_for");
  const Processor::Stay stay(*state_->processor);
  const TimePoint limit = state_->time_after(duration);
  while (state_->advance(limit)) {
  }
}

bool World::step_until(const std::function<bool()>& condition, Deadline limit) {
  state_->require_outside("step_until");
  const Processor::Stay stay(*state_->processor);
  const TimePoint due = state_->time_after(limit);
  while (!condition()) {
    if (!state_->advance(due)) return condition();
  }
  return true;
}

void World::kill(std::string_view name, Death death) {
  if (state_->stepping) return kill_after(0, name, death);
  state_->kill(state_->place(name), death);
}

void World::kill_after(std::uint64_t steps, std::string_view name, Death death) {
  const std::uint64_t now = state_->schedule->steps();
  const std::uint64_t then = now + std::min(steps, std::numeric_limits<std::uint64_t>::max() - now);
  state_->killings.push_back({then, state_->place(name).node->name(), death});
}

void World::freeze(std::string_view name) { state_->schedule->freeze(state_->place(name).node->name()); }

void World::thaw(std::string_view name) { state_->schedule->thaw(state_->place(name).node->name()); }

void World::cut(std::string_view from, std::string_view to) {
  state_->network->cut(state_->place(from).node->name(), state_->place(to).node->name());
}

void World::heal(std::string_view from, std::string_view to) {
  state_->network->heal(state_->place(from).node->name(), state_->place(to).node->name());
}

std::uint64_t World::draw(std::uint64_t count) {
  if (count == 0) throw std::invalid_argument("[World] draw(0): there is nothing to choose from");
  return state_->schedule->choices().below(count);
}

Duration World::now() const { return state_->schedule->elapsed(); }

WorldCounts World::counts() const {
  WorldCounts counts = state_->network->counts();
  counts.steps = state_->schedule->steps();
  counts.killed = state_->own_counts.killed;
  counts.unwound = state_->own_counts.unwound;
  counts.actors_left = state_->own_counts.actors_left;
  return counts;
}

std::uint64_t World::trace_hash() const { return state_->schedule->trace().hash(); }

std::string World::trace_text(std::size_t lines) const { return state_->schedule->trace().text(lines); }

}  // namespace troupe::sim
