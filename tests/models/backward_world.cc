#include "tests/models/backward_world.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "actors/contexts/backward_tracker.h"
#include "tests/models/every_order.h"

namespace troupe::testing {
namespace {

using Phase = BackwardTracker::Phase;

constexpr char kRoot = 'A';
constexpr char kOwnRoots = '*';

enum class BackwardKind : std::uint8_t { mark, marked, run, gradient, finished, failed, down };

struct BackwardMessage {
  BackwardKind kind = BackwardKind::mark;
  char from = kRoot;
  char to = kRoot;
  std::uint64_t number = 0;  // of a mark
  std::string names;         // names of boundaries or of participants
  bool from_roots = false;
  char culprit = 0;     // of failed
  bool routed = false;  // a gradient with the route
  friend auto operator<=>(const BackwardMessage&, const BackwardMessage&) = default;
};

NodeName name(char node) { return std::string(1, node); }
char letter(const BoundaryId& id) { return static_cast<char>(id.serial); }

Error death_of(char node) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.peer = name(node);
  return error;
}

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// The state of one node's graph task, as far as the protocol depends on it.
struct GraphTask {
  std::set<char> sources;  // '*' and the marked SendFns
  std::set<char> reached;  // RecvFns that take part
  std::set<char> ready;    // sources that have run
  std::set<char> sent;
  std::set<char> heard;  // nodes whose gradients have come
  bool is_done = false;
};

class BackwardWorld {
 public:
  BackwardWorld(const Pass& pass, PassExploration& seen) : pass_(&pass), seen_(&seen), duplicates_(pass.duplicates) {
    std::set<char> nodes{kRoot};
    for (const ModelBoundary& edge : pass.graph) nodes.insert({edge.recv, edge.send});
    nodes.insert(pass.remote_roots.begin(), pass.remote_roots.end());
    for (const char node : nodes) {
      trackers_.emplace(node, BackwardTracker({name(kRoot), 0, 1}, name(node)));
      tasks_.emplace(node, GraphTask{});
    }
    find_reachable();
    std::set<NodeName> remote_roots;
    for (const char node : pass.remote_roots) remote_roots.insert(name(node));
    act(kRoot, pass.on_route ? trackers_.at(kRoot).start_on(route()) : trackers_.at(kRoot).start(remote_roots));
  }

  struct Event {
    enum class What : std::uint8_t { deliver, repeat, walk, death };
    What what = What::deliver;
    char node = 0;                             // walk, death
    const BackwardMessage* message = nullptr;  // for deliver and repeat: in the flight of the world that offers it
  };

  [[nodiscard]] std::vector<Event> events() const {
    using What = Event::What;
    std::vector<Event> out;
    for (auto at = flight_.begin(); at != flight_.end(); at = flight_.upper_bound(*at)) {
      if (changes_nothing(*at)) return {{What::deliver, 0, &*at}};
      out.push_back({What::deliver, 0, &*at});
      if (duplicates_ > 0 && at->kind != BackwardKind::down) out.push_back({What::repeat, 0, &*at});
    }
    for (const auto& [node, walks] : walks_) {
      if (!walks.empty()) out.push_back({What::walk, node, nullptr});
    }
    if (dead_ == 0) {
      for (const char node : pass_->mortal) out.push_back({What::death, node, nullptr});
    }
    return out;
  }

  void apply(const Event& event) {
    const BackwardMessage message = event.message == nullptr ? BackwardMessage{} : *event.message;
    switch (event.what) {
      case Event::What::deliver:
        flight_.erase(flight_.find(message));
        deliver(message);
        break;
      case Event::What::repeat:
        --duplicates_;
        deliver(message);
        break;
      case Event::What::walk: walk(event.node); break;
      case Event::What::death: die(event.node); break;
    }
  }

  static bool comes_of_itself(const Event& event) { return event.what != Event::What::death; }

  static std::string text(const Event& event) {
    static constexpr const char* kNames[] = {"deliver ", "deliver and repeat ", "walk on ", "death of "};
    const std::string what = kNames[static_cast<std::size_t>(event.what)];
    return what + (event.message == nullptr ? name(event.node) : text(*event.message));
  }

  [[nodiscard]] std::string key() const {
    std::string out;
    for (const BackwardMessage& message : flight_) out += text(message) + "|";
    for (const auto& [node, tracker] : trackers_) out += name(node) + tracker.text();
    for (const auto& [node, task] : tasks_) {
      out += '|';
      for (const auto* set : {&task.sources, &task.reached, &task.ready, &task.sent, &task.heard})
        out.append(set->begin(), set->end()) += '.';
    }
    for (const auto& [node, walks] : walks_) out += "w" + std::to_string(walks.size());
    for (const auto& [at, against] : fenced_) out += std::string{'!', at, against};
    return out + dead_ + std::to_string(duplicates_);
  }

  void check_end() const {
    ++seen_->ends;
    const Phase root = dead_ == kRoot ? Phase::failed : trackers_.at(kRoot).phase();
    require(root == Phase::complete || root == Phase::failed, "the root is still waiting");
    if (root == Phase::complete) {
      ++seen_->completed;
      require(pass_->throws == 0, "complete although a node failed");
    } else {
      ++seen_->failed;
      require(dead_ != 0 || pass_->throws != 0, "failed without a reason");
    }
    for (const auto& [node, tracker] : trackers_) {
      const bool takes_part = tracker.phase() != Phase::idle;
      if (root == Phase::failed) {
        require(!takes_part || tracker.phase() == Phase::failed, "left behind by a failure: " + name(node));
        require(!takes_part || tracker.failure()->peer == name(dead_ != 0 ? dead_ : pass_->throws),
                "wrong culprit at " + name(node));
      } else if (dead_ == 0) {
        require(takes_part == nodes_.contains(node), "wrong participant: " + name(node));
        require(!takes_part || node == kRoot || tracker.phase() == Phase::finished, "not finished: " + name(node));
      }
    }
  }

 private:
  [[nodiscard]] BoundaryId boundary(char id) const {
    const auto at = std::ranges::find(pass_->graph, id, &ModelBoundary::name);
    return {name(at->send), 0, static_cast<std::uint64_t>(id)};
  }

  /// The boundaries that take part.
  [[nodiscard]] msg::RouteLegs route() const {
    std::map<std::pair<char, char>, std::vector<std::uint64_t>> serials;
    for (const ModelBoundary& edge : pass_->graph) {
      if (reachable_.contains({edge.send, edge.name}))
        serials[{edge.send, edge.recv}].push_back(boundary(edge.name).serial);
    }
    msg::RouteLegs legs;
    for (const auto& [ends, all] : serials) legs.push_back({name(ends.first), 0, name(ends.second), all});
    return legs;
  }

  void find_reachable() {
    std::set<std::pair<char, char>> sources{{kRoot, kOwnRoots}};  // (node, source)
    for (const char node : pass_->remote_roots) sources.emplace(node, kOwnRoots);
    for (bool grows = true; grows;) {
      grows = false;
      for (const ModelBoundary& edge : pass_->graph) {
        for (const char source : edge.reached_from) {
          if (sources.contains({edge.recv, source})) grows |= sources.emplace(edge.send, edge.name).second;
        }
      }
    }
    for (const auto& [node, source] : sources) {
      nodes_.insert(node);
      reachable_.insert({node, source});
    }
  }

  // A receiver that has failed ignores the message. Its delivery commutes with every other event, so one order of it
  // represents all.
  [[nodiscard]] bool changes_nothing(const BackwardMessage& message) const {
    return message.kind != BackwardKind::mark && message.kind != BackwardKind::down &&
           trackers_.at(message.to).phase() == Phase::failed;
  }

  void deliver(const BackwardMessage& message) {
    if (message.kind == BackwardKind::down) {
      fenced_.emplace(message.to, message.from);
      std::erase_if(flight_,
                    [&](const BackwardMessage& other) { return other.from == message.from && other.to == message.to; });
    }
    BackwardTracker& tracker = trackers_.at(message.to);
    switch (message.kind) {
      case BackwardKind::mark: mark(message); break;
      case BackwardKind::marked: {
        std::vector<NodeName> participants;
        for (const char node : message.names) participants.push_back(name(node));
        act(message.to, tracker.mark_answered(message.number, participants));
        break;
      }
      case BackwardKind::run: act(message.to, tracker.run()); break;
      case BackwardKind::gradient: gradient(message); break;
      case BackwardKind::finished: act(message.to, tracker.reported(name(message.from))); break;
      case BackwardKind::failed: act(message.to, tracker.fail(death_of(message.culprit))); break;
      case BackwardKind::down: act(message.to, tracker.node_down(name(message.from), death_of(message.from))); break;
    }
  }

  void mark(const BackwardMessage& message) {
    BackwardTracker& tracker = trackers_.at(message.to);
    std::vector<BoundaryId> boundaries;
    for (const char id : message.names) boundaries.push_back(boundary(id));
    const Phase before = tracker.phase();
    act(message.to, tracker.mark(name(message.from), message.number, boundaries, message.from_roots));
    if (before == Phase::marked && tracker.phase() != Phase::failed) ++seen_->reengaged;
  }

  void gradient(const BackwardMessage& message) {
    if (message.routed) act(message.to, trackers_.at(message.to).route(name(message.from), route()));
    tasks_.at(message.to).heard.insert(message.from);
    const auto actions = trackers_.at(message.to).gradient(name(message.from), boundary(message.names.front()));
    const bool is_failed = trackers_.at(message.to).phase() == Phase::failed;
    if (actions.empty()) {
      const bool is_repeated = tasks_.at(message.to).ready.contains(message.names.front());
      require(is_failed || is_repeated, "an honest gradient was dropped: " + text(message));
      if (!is_failed) ++seen_->repeated;
    }
    act(message.to, actions);
  }

  // Performs the actions of one event, in order.
  void act(char node, const backward_actions::Actions& actions) {
    for (const auto& action : actions) {
      std::visit(
          Overloaded{
              [&](const backward_actions::Walk& walk_) { begin_walk(node, walk_); },
              [&](const backward_actions::SendMark& send_) {
                BackwardMessage message{BackwardKind::mark, node, send_.to.front(), send_.number, {},
                                        send_.from_roots,   0};
                for (const BoundaryId& id : send_.boundaries) message.names += letter(id);
                send(message);
              },
              [&](const backward_actions::AnswerMark& answer) {
                BackwardMessage message{BackwardKind::marked, node, answer.to.front(), answer.request, {}, false, 0};
                for (const NodeName& participant : answer.participants) message.names += participant;
                send(message);
              },
              [&](const backward_actions::SendRun& run) {
                send({BackwardKind::run, node, run.to.front(), 0, {}, false, 0});
              },
              [&](const backward_actions::Run&) {
                if (!pass_->on_route) check_marking_is_complete();
                tasks_.at(node).ready.insert(kOwnRoots);
                advance(node);
              },
              [&](const backward_actions::Accept& accept) {
                require(tasks_.at(node).ready.insert(letter(accept.boundary)).second, "a gradient was taken twice");
                advance(node);
              },
              [&](const backward_actions::SendFinished& done) {
                send({BackwardKind::finished, node, done.to.front(), 0, {}, false, 0});
              },
              [&](const backward_actions::SendFailed& failed) {
                send({BackwardKind::failed, node, failed.to.front(), 0, {}, false, failed.error.peer.front()});
              },
              [&](const backward_actions::Complete&) {
                if (pass_->on_route) check_marking_is_complete();
                for (const char other : nodes_) {
                  require(dead_ == other || other == kRoot || trackers_.at(other).phase() >= Phase::finished,
                          "complete before " + name(other) + " had finished");
                }
                decide(node);
              },
              [&](const backward_actions::Failed&) { decide(node); },
              [&](const backward_actions::Refused& refused) { throw Broken("refused: " + refused.error.message); },
          },
          action);
    }
  }

  void decide(char node) { require(decided_.insert(node).second, "decided twice: " + name(node)); }

  void check_marking_is_complete() const {
    std::set<std::pair<char, char>> marked;
    for (const auto& [node, task] : tasks_) {
      for (const char source : task.sources) marked.emplace(node, source);
    }
    auto expected = reachable_;
    std::erase_if(expected, [&](const auto& source) { return source.first == dead_; });
    require(marked == expected, "gradients flow before exactly the reachable part is marked");
  }

  void begin_walk(char node, const backward_actions::Walk& walk_) {
    walks_[node].push_back(walk_);
    if (!pass_->slow_walks || walk_.must_reach) walk(node);
  }

  void walk(char node) {
    const backward_actions::Walk walk = walks_[node].front();
    walks_[node].pop_front();
    GraphTask& task = tasks_.at(node);
    std::string sources(walk.from_roots ? 1 : 0, kOwnRoots);
    for (const BoundaryId& id : walk.boundaries) sources += letter(id);
    backward_actions::BoundariesByPeer reached;
    task.sources.insert(sources.begin(), sources.end());
    for (const ModelBoundary& edge : pass_->graph) {
      const bool is_reached = edge.recv == node && edge.reached_from.find_first_of(sources) != std::string::npos;
      if (is_reached && task.reached.insert(edge.name).second) reached[name(edge.send)].push_back(boundary(edge.name));
    }
    if (!walk.must_reach) return act(node, trackers_.at(node).walked(reached));
    std::vector<BoundaryId> all;
    for (const auto& [peer, boundaries] : reached) all.insert(all.end(), boundaries.begin(), boundaries.end());
    std::ranges::sort(all);
    require(all == *walk.must_reach, "the graph is not that of the route at " + name(node));
  }

  // Sends the gradients that are complete. Ends the task when all are sent.
  void advance(char node) {
    GraphTask& task = tasks_.at(node);
    for (const ModelBoundary& edge : pass_->graph) {
      if (!task.reached.contains(edge.name) || edge.recv != node || task.sent.contains(edge.name)) continue;
      const bool is_complete = std::all_of(edge.reached_from.begin(), edge.reached_from.end(), [&](char source) {
        return !task.sources.contains(source) || task.ready.contains(source);
      });
      if (!is_complete) continue;
      task.sent.insert(edge.name);
      const bool knows = edge.send == kRoot || task.heard.contains(edge.send);
      send(
          {BackwardKind::gradient, node, edge.send, 0, std::string(1, edge.name), false, 0, pass_->on_route && !knows});
    }
    std::set<char> sources = task.sources;
    if (node == kRoot) sources.insert(kOwnRoots);
    if (task.ready != sources || std::exchange(task.is_done, true)) return;
    act(node, pass_->throws == node ? trackers_.at(node).fail(death_of(node)) : trackers_.at(node).finished());
  }

  void send(const BackwardMessage& message) {
    if (fenced_.contains({message.from, message.to})) {
      // A request to a peer known to be down fails at once, without an answer.
      if (message.kind == BackwardKind::mark)
        flight_.insert({BackwardKind::down, message.to, message.from, 0, {}, false, 0});
      return;
    }
    if (dead_ != message.to) flight_.insert(message);
  }

  void die(char node) {
    dead_ = node;
    trackers_.erase(node);
    tasks_.erase(node);
    walks_.erase(node);
    std::erase_if(flight_, [&](const BackwardMessage& message) { return message.to == node; });
    for (const auto& [other, tracker] : trackers_) flight_.insert({BackwardKind::down, node, other, 0, {}, false, 0});
  }

  static std::string text(const BackwardMessage& message) {
    static constexpr const char* kNames[] = {"mark", "marked", "run", "gradient", "finished", "failed", "down"};
    std::string out = std::string(1, message.from) + "->" + message.to + " " + kNames[static_cast<int>(message.kind)];
    return out + " " + std::to_string(message.number) + " " + message.names + (message.from_roots ? "*" : "") +
           (message.culprit == 0 ? "" : std::string(1, message.culprit)) + (message.routed ? " with the route" : "");
  }

  const Pass* pass_;
  PassExploration* seen_;
  int duplicates_;
  std::set<std::pair<char, char>> reachable_;  // (node, source) pairs that must be marked
  std::set<char> nodes_;                       // nodes that must take part
  std::map<char, BackwardTracker> trackers_;   // of the living nodes
  std::map<char, GraphTask> tasks_;
  std::map<char, std::deque<backward_actions::Walk>> walks_;
  std::multiset<BackwardMessage> flight_;
  std::set<std::pair<char, char>> fenced_;  // (node, peer whose messages it refuses)
  std::set<char> decided_;
  char dead_ = 0;
};

}  // namespace

PassExploration explore(const Pass& pass) {
  PassExploration seen;
  EveryOrder<BackwardWorld>(seen.states).visit(BackwardWorld(pass, seen));
  return seen;
}

}  // namespace troupe::testing
