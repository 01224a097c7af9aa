#include "tests/models/rref_world.h"

#include <algorithm>
#include <utility>

#include "tests/models/every_order.h"

namespace troupe::testing {
namespace {

using Kind = Message::Kind;

constexpr char kOwner = 'O';

NodeLife life_of(char node) { return {std::string(1, node), {1, static_cast<std::uint64_t>(node)}}; }
std::string pair_of(char a, char b) { return a < b ? std::string{a, b} : std::string{b, a}; }

Error error_of(ErrorCode code) {
  Error error;
  error.code = code;
  return error;
}

class RRefWorld {
 public:
  RRefWorld(const Script& script, Exploration& seen)
      : script_(&script),
        seen_(&seen),
        duplicates_(script.duplicates),
        undone_(script.undone),
        newcomer_(script.newcomer) {
    for (const auto& [node, program] : script.programs) {
      alive_.insert(node);
      if (node != kOwner) users_.emplace(node, HandleTable(life_of(node)));
      for (const Step& step : program) {
        const bool begins = step.kind == Step::Kind::create || step.kind == Step::Kind::make;
        if (begins) rref_ = {std::string(1, node), life_of(node).incarnation.low, 1};
      }
    }
  }

  struct Event {
    enum class What : std::uint8_t { deliver, repeat, undo, act, creation_fails, meet, crash, cut };
    What what = What::deliver;
    char node = 0;                     // act, crash
    const Message* message = nullptr;  // for deliver, repeat and undo: in the flight of the world that offers it
  };

  [[nodiscard]] std::vector<Event> events() const {
    using What = Event::What;
    std::vector<Event> out;
    for (auto at = flight_.begin(); at != flight_.end(); at = flight_.upper_bound(*at)) {
      const bool is_notification = at->kind == Kind::forked || at->kind == Kind::deleted ||
                                   at->kind == Kind::acknowledged || at->kind == Kind::revoked ||
                                   at->kind == Kind::undone;
      out.push_back({What::deliver, 0, &*at});
      if (duplicates_ > 0 && is_notification) out.push_back({What::repeat, 0, &*at});
      const bool may_stay =
          at->kind == Kind::call ? undone_ > 0 : at->kind == Kind::create && script_->creation_may_stay;
      if (may_stay && alive_.contains(at->from)) out.push_back({What::undo, 0, &*at});
    }
    for (const char node : alive_) {
      if (can_act(node)) out.push_back({What::act, node, nullptr});
    }
    if (creation_may_fail()) out.push_back({What::creation_fails, 0, nullptr});
    if (newcomer_ != 0 && alive_.contains(kOwner) && alive_.contains(newcomer_))
      out.push_back({What::meet, 0, nullptr});
    if (lost_.empty()) {
      for (const char node : script_->crashable) out.push_back({What::crash, node, nullptr});
      if (!script_->cut.empty()) out.push_back({What::cut, 0, nullptr});
    }
    return out;
  }

  void apply(const Event& event) {
    const Message message = event.message == nullptr ? Message{} : *event.message;
    switch (event.what) {
      case Event::What::deliver:
        flight_.erase(flight_.find(message));
        count_overtaken(message);
        deliver(message);
        break;
      case Event::What::repeat:
        --duplicates_;
        deliver(message);
        break;
      case Event::What::undo:
        flight_.erase(flight_.find(message));
        if (message.kind == Kind::create) return undo_creation();
        --undone_;
        for (const ForkId& fork : message.forks) undo(message.from, fork);
        break;
      case Event::What::act: act(event.node); break;
      case Event::What::creation_fails: fail_creation(); break;
      case Event::What::meet: meet(); break;
      case Event::What::crash: crash(event.node); break;
      case Event::What::cut: cut(); break;
    }
  }

  static bool comes_of_itself(const Event& event) {
    using What = Event::What;
    return event.what == What::deliver || event.what == What::act || event.what == What::meet;
  }

  static std::string text(const Event& event) {
    static constexpr const char* kNames[] = {"deliver ",           "deliver and repeat ",          "undo ",  "act: ",
                                             "the creation fails", "the newcomer meets the owner", "crash ", "cut"};
    std::string out = kNames[static_cast<std::size_t>(event.what)];
    if (event.node != 0) out += event.node;
    return event.message == nullptr ? out : out + text(*event.message);
  }

  // Returns the state on which later events depend, as text.
  [[nodiscard]] std::string key() const {
    std::string out = table_ ? table_->text() : "none";
    out += released_ ? "|released|" : "|";
    if (creation_failed_) out += "creation failed|";
    if (never_created_) out += "never created|";
    if (newcomer_ != 0) out += "not met|";
    for (const auto& [node, table] : users_) out += std::string(1, node) + table.text() + "|";
    for (const Message& message : flight_) out += text(message) + "|";
    for (const auto& [node, count] : copies_) out += node + std::to_string(count);
    for (const auto& [node, position] : position_) out += node + std::to_string(position);
    for (const auto& [fork, roots] : rests_on_) {
      out += "|" + fork.text();
      for (const std::string& root : roots) out += root;
    }
    for (const auto& [at, against] : fenced_) out += std::string{'!', at, against};
    for (const std::string& lost : lost_) out += "#" + lost;
    out.append(alive_.begin(), alive_.end());
    return out + std::to_string(duplicates_) + "," + std::to_string(undone_);
  }

  // Checks safety in every state (RR-1, RR-3, RR-8).
  void check() const {
    for (const auto& [node, table] : users_) {
      if (!table.is_held(rref_) || table.state(rref_) == HandleState::failed) continue;
      const auto forks = table.forks_of(rref_);
      require(!forks.empty(), std::string("a handle rests on no fork at ") + node);
      if (!released_ || is_lost(node)) continue;
      require(std::all_of(forks.begin(), forks.end(), [&](const ForkId& fork) { return is_tainted(fork); }),
              std::string("value released while held at ") + node);
    }
    for (const Message& message : flight_) {
      if (message.kind != Kind::call || !released_ || is_lost(message.to)) continue;
      for (const ForkId& fork : message.forks)
        require(is_tainted(fork), "value released during a hand-over: " + text(message));
    }
    if (flight_.empty() && newcomer_ == 0) check_quiet();
  }

  // In a state where no event comes of itself every copy has been dropped, so no fork may remain (RR-9).
  void check_end() const {
    require(!table_, "the owner still has a table: " + (table_ ? table_->text() : ""));
    for (const auto& [node, table] : users_)
      require(table.size() == 0, std::string("left at ") + node + ": " + table.text());
    ++seen_->ends;
    if (!alive_.contains(kOwner)) ++seen_->owner_died;
    if (newcomer_ != 0) ++seen_->never_met;
  }

 private:
  // With no message in flight, the owner's forks are exactly those of the holders, and every handle is decided.
  void check_quiet() const {
    std::size_t forks_held = 0;
    for (const auto& [node, table] : users_) {
      require(table.unacknowledged_count() == 0, std::string("a child is never acknowledged at ") + node);
      if (!table.contains(rref_)) continue;
      require(table.state(rref_) != HandleState::pending, std::string("pending for ever at ") + node);
      const auto forks = table.forks_of(rref_);
      if (table.state(rref_) == HandleState::failed) {
        for (const ForkId& fork : forks) forks_held += table_ && table_->is_live(fork) ? 1U : 0U;
        continue;
      }
      require(forks.size() == 1, std::string("more than one fork kept at ") + node);
      require(table_ && table_->is_live(forks.front()), std::string("the owner does not count the fork of ") + node);
      ++forks_held;
    }
    if (table_)
      require(table_->fork_count() == forks_held, "the owner counts a fork that nobody holds: " + table_->text());
  }

  [[nodiscard]] bool creation_may_fail() const {
    if (!script_->creation_may_fail || creation_failed_ || !alive_.contains(created_by_)) return false;
    const HandleTable& table = users_.at(created_by_);
    const auto forks = table.forks_of(rref_);
    return std::find(forks.begin(), forks.end(), creating_fork_) != forks.end() &&
           table.state(rref_) == HandleState::pending;
  }

  // Returns the node's next step. After the last one the node drops its remaining copies.
  [[nodiscard]] Step next_step(char node) const {
    const Program& program = script_->programs.at(node);
    const std::size_t position = count_in(position_, node);
    return position < program.size() ? program[position] : Step{};
  }

  [[nodiscard]] bool can_act(char node) const {
    const Step::Kind kind = next_step(node).kind;
    return kind == Step::Kind::create || kind == Step::Kind::make || count_in(copies_, node) > 0;
  }

  void act(char node) {
    const Step step = next_step(node);
    if (count_in(position_, node) < script_->programs.at(node).size()) ++position_[node];
    perform(node, step);
  }

  void perform(char node, const Step& step) {
    switch (step.kind) {
      case Step::Kind::create: {
        const ForkId fork = users_.at(node).create(rref_, life_of(kOwner));
        ++copies_[node];
        rests_on_[fork];
        created_by_ = node;
        creating_fork_ = fork;
        look_again(node, kOwner);
        send({Kind::create, node, kOwner, {fork}, {}});
        break;
      }
      case Step::Kind::make:
        spawn();
        require(table_->hold(), "a new value is gone");
        ++copies_[node];
        break;
      case Step::Kind::hand: hand(node, step.to, 1); break;
      case Step::Kind::hand_two: hand(node, step.to, 2); break;
      case Step::Kind::drop: drop(node); break;
    }
  }

  void hand(char node, char to, int times) {
    Message message{Kind::call, node, to, {}, {}};
    for (int i = 0; i < times; ++i) {
      if (node == kOwner) {
        const ForkId fork = ids_.next_fork();
        if (!table_->hand_out(fork, life_of(to))) continue;
        look_again(node, to);
        rests_on_[fork] = {pair_of(node, to)};
        message.forks.push_back(fork);
      } else if (const auto fork = users_.at(node).hand_out(rref_, life_of(to)); fork.ok()) {
        rests_on_[fork.value()] = roots_of_child(node, to);
        look_again(node, to);
        message.forks.push_back(fork.value());
      }
    }
    if (message.forks.empty()) return;
    if (fenced_.contains({node, to})) {  // the session refuses to send
      for (const ForkId& fork : message.forks) undo(node, fork);
    } else {
      send(message);
    }
  }

  // The node has made something depend on the life of `other`, which may already be over.
  void look_again(char node, char other) {
    if (!fenced_.contains({node, other})) return;
    if (node != kOwner)
      return send_all(node, users_.at(node).handle_down(rref_, life_of(other), error_of(ErrorCode::peer_down)));
    table_->drop_node(life_of(other));
  }

  // Returns the faults that lose a child of this node's handle: of the node, the connection, or all that its forks
  // depend on.
  [[nodiscard]] std::set<std::string> roots_of_child(char node, char to) const {
    std::set<std::string> out{std::string(1, node), pair_of(node, to)};
    const HandleTable& table = users_.at(node);
    if (table.state(rref_) != HandleState::pending) return out;
    const auto forks = table.forks_of(rref_);
    for (const std::string& root : rests_on_.at(forks.front())) {
      const bool in_all = std::all_of(forks.begin(), forks.end(),
                                      [&](const ForkId& fork) { return rests_on_.at(fork).contains(root); });
      if (in_all) out.insert(root);
    }
    return out;
  }

  void fail_creation() {
    creation_failed_ = true;
    std::erase_if(flight_, [&](const Message& message) { return is_answer_to_creation(message); });
    send_all(created_by_, users_.at(created_by_).creation_failed(rref_, error_of(ErrorCode::timeout)));
  }

  void undo_creation() {
    never_created_ = true;
    send_all(created_by_, users_.at(created_by_).creation_undone(rref_, error_of(ErrorCode::too_large)));
  }

  [[nodiscard]] bool is_answer_to_creation(const Message& message) const {
    return message.kind == Kind::acknowledged && message.to == created_by_ && message.forks.front() == creating_fork_;
  }

  void drop(char node) {
    --copies_[node];
    if (node == kOwner) {
      table_->release();
      settle();
    } else {
      send_all(node, users_.at(node).dropped(rref_));
    }
  }

  void undo(char node, const ForkId& fork) {
    if (node != kOwner) return send_all(node, users_.at(node).undo(rref_, fork));
    if (table_) table_->undo(fork);
    settle();
  }

  void count_overtaken(const Message& message) const {
    if (message.kind == Kind::down) return;
    for (const Message& other : flight_) {
      if (other.kind == Kind::down || other.number >= message.number || other.to != message.to) continue;
      if (other.from == message.from) ++seen_->overtaken;
      if (other.kind == Kind::create) ++seen_->before_creation;
    }
  }

  void deliver(const Message& message) {
    if (message.kind == Kind::down) {
      fenced_.emplace(message.to, message.from);
      std::erase_if(flight_,
                    [&](const Message& other) { return other.from == message.from && other.to == message.to; });
    }
    if (message.to == kOwner) {
      deliver_to_owner(message);
      settle();
    } else {
      deliver_to_user(message);
    }
  }

  void deliver_to_owner(const Message& message) {
    const NodeLife from = life_of(message.from);
    if (message.kind == Kind::down) {
      ended_.drop_creator(from);
      if (table_) table_->drop_node(from);
      return;
    }
    const bool is_over = !table_ && (creator_is_over() || ended_.recall(rref_) == detail::Recall::ended);
    if (!is_over) spawn();
    const ForkId& fork = message.forks.front();
    switch (message.kind) {
      case Kind::create: answer(message, is_over ? ForkOutcome::revoked : table_->created(fork, from)); break;
      case Kind::forked: answer(message, is_over ? ForkOutcome::revoked : table_->forked(fork, from)); break;
      case Kind::deleted: deleted(message, is_over); break;
      case Kind::undone:
        if (is_over) break;
        static_cast<void>(table_->created(fork, from));
        require(table_->deleted(fork, from), "a creator's own word was refused");
        break;
      case Kind::call:
        for (const ForkId& home : message.forks) come_home(message, home, is_over);
        break;
      default: throw Broken("not for an owner: " + text(message));
    }
  }

  void deleted(const Message& message, bool is_over) {
    if (is_over) return;
    const bool is_early =
        !table_->is_live(message.forks.front()) && table_->text().find("awaited") == std::string::npos;
    require(table_->deleted(message.forks.front(), life_of(message.from)), "a holder's own delete was refused");
    if (is_early && table_->text().find("awaited") != std::string::npos) ++seen_->early_deletes;
  }

  void come_home(const Message& message, const ForkId& fork, bool is_over) {
    if (!is_over && table_->hold()) ++copies_[kOwner];
    const bool acknowledge = is_over || table_->came_home(fork);
    if (acknowledge && message.from != kOwner) send({Kind::acknowledged, kOwner, message.from, {fork}, {}});
  }

  void answer(const Message& message, ForkOutcome outcome) {
    require(outcome != ForkOutcome::refused, "an honest report was refused: " + text(message));
    const ForkId& fork = message.forks.front();
    if (message.kind == Kind::forked) send({Kind::acknowledged, kOwner, message.parent.front(), {fork}, {}});
    if (outcome == ForkOutcome::known) send({Kind::acknowledged, kOwner, message.from, {fork}, {}});
    if (outcome == ForkOutcome::revoked) send({Kind::revoked, kOwner, message.from, {fork}, {}});
  }

  void deliver_to_user(const Message& message) {
    HandleTable& table = users_.at(message.to);
    const NodeLife from = life_of(message.from);
    const auto first = message.forks.empty() ? ForkId{} : message.forks.front();
    switch (message.kind) {
      case Kind::call:
        for (const ForkId& fork : message.forks) {
          ++copies_[message.to];
          const RRefNotices notices = table.received({rref_, fork, life_of(kOwner)}, from,
                                                     message.to == newcomer_ ? OwnerMet::not_yet : OwnerMet::yes);
          if (!notices.empty() && notices.front().kind != RRefNotice::Kind::forked) ++seen_->given_back;
          send_all(message.to, notices);
        }
        look_again(message.to, kOwner);
        break;
      case Kind::acknowledged: send_all(message.to, table.acknowledged(rref_, first)); break;
      case Kind::revoked: {
        const auto forks = table.forks_of(rref_);
        if (std::find(forks.begin(), forks.end(), first) != forks.end()) {
          require(is_tainted(first), "revoked although nothing that it rests on was lost: " + text(message));
          ++seen_->revoked;
        }
        send_all(message.to, table.revoked(rref_, first, error_of(ErrorCode::ref_revoked)));
        break;
      }
      case Kind::down: send_all(message.to, table.node_down(from, error_of(ErrorCode::peer_down))); break;
      default: throw Broken("not for a user: " + text(message));
    }
  }

  void send_all(char node, const RRefNotices& notices) {
    for (const RRefNotice& notice : notices) {
      const Kind kind = notice.kind == RRefNotice::Kind::forked    ? Kind::forked
                        : notice.kind == RRefNotice::Kind::deleted ? Kind::deleted
                        : notice.kind == RRefNotice::Kind::undone  ? Kind::undone
                                                                   : Kind::acknowledged;
      send({kind, node, notice.to.name.front(), {notice.fork}, notice.parent});
    }
  }

  void send(Message message) {
    message.number = ++sent_;
    if (creation_failed_ && is_answer_to_creation(message)) return;  // its request is no longer pending
    if (can_reach(message.from, message.to)) flight_.insert(message);
  }

  [[nodiscard]] bool can_reach(char from, char to) const {
    return alive_.contains(to) && !fenced_.contains({from, to}) && !fenced_.contains({to, from}) &&
           !are_strangers(from, to);
  }

  [[nodiscard]] bool are_strangers(char a, char b) const {
    return newcomer_ != 0 && ((a == kOwner && b == newcomer_) || (a == newcomer_ && b == kOwner));
  }

  void meet() {
    const char user = std::exchange(newcomer_, 0);
    const RRefNotices notices = users_.at(user).node_up(life_of(kOwner));
    seen_->met_late += notices.size();
    send_all(user, notices);
  }

  void crash(char node) {
    alive_.erase(node);
    users_.erase(node);
    copies_.erase(node);
    lost_.insert(std::string(1, node));
    if (node == kOwner) table_.reset();
    std::erase_if(flight_, [&](const Message& message) { return message.to == node; });
    for (const char other : alive_) {
      if (!are_strangers(node, other)) flight_.insert({Kind::down, node, other, {}, {}});
    }
  }

  void cut() {
    const char a = script_->cut[0];
    const char b = script_->cut[1];
    lost_.insert(pair_of(a, b));
    if (a == kOwner) lost_.insert(std::string(1, b));
    flight_.insert({Kind::down, a, b, {}, {}});
    flight_.insert({Kind::down, b, a, {}, {}});
  }

  void spawn() {
    if (!table_) table_.emplace(rref_, life_of(kOwner).name);
  }

  void settle() {
    // RR-14. A word about it that came twice would be taken for a new one.
    const bool is_only_a_name = table_ && !table_->is_created() && table_->is_unused();
    if (is_only_a_name && script_->duplicates == 0) {
      table_.reset();
      ++seen_->forgotten;
    }
    if (!table_ || !table_->ended()) return;
    if (!creator_is_over()) ended_.add(rref_);
    table_.reset();
    released_ = true;
  }

  [[nodiscard]] bool creator_is_over() const { return fenced_.contains({kOwner, rref_.creator.front()}); }
  [[nodiscard]] bool is_lost(char node) const { return lost_.contains(std::string(1, node)); }
  [[nodiscard]] bool is_tainted(const ForkId& fork) const {
    if (never_created_) return true;
    const auto& roots = rests_on_.at(fork);
    return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) { return lost_.contains(root); });
  }

  static std::size_t count_in(const std::map<char, std::size_t>& counts, char node) {
    const auto at = counts.find(node);
    return at == counts.end() ? 0 : at->second;
  }

  static std::string text(const Message& message) {
    static constexpr const char* kNames[] = {"create",       "call",    "forked", "deleted",
                                             "acknowledged", "revoked", "undone", "down"};
    std::string out = std::string(1, message.from) + "->" + message.to + " " + kNames[static_cast<int>(message.kind)];
    for (const ForkId& fork : message.forks) out += " " + fork.text();
    return out;
  }

  const Script* script_;
  Exploration* seen_;
  RRefId rref_;
  int duplicates_;
  int undone_;
  char newcomer_;  // set until it meets the owner
  std::set<char> alive_;
  std::optional<ForkTable> table_;
  EndedRRefs ended_{life_of(kOwner).name};
  HandleTable ids_{life_of(kOwner)};
  bool released_ = false;
  char created_by_ = 0;
  ForkId creating_fork_;
  bool creation_failed_ = false;
  bool never_created_ = false;
  std::map<char, HandleTable> users_;
  std::map<char, std::size_t> copies_;
  std::map<char, std::size_t> position_;
  std::multiset<Message> flight_;
  std::uint64_t sent_ = 0;
  std::set<std::pair<char, char>> fenced_;            // (node, peer whose messages it refuses)
  std::set<std::string> lost_;                        // crashed nodes "A", cut connections "AB"
  std::map<ForkId, std::set<std::string>> rests_on_;  // for each fork: the faults that must occur for it to be revoked
};

}  // namespace

Exploration explore(const Script& script) {
  Exploration seen;
  EveryOrder<RRefWorld>(seen.states).visit(RRefWorld(script, seen));
  return seen;
}

}  // namespace troupe::testing
