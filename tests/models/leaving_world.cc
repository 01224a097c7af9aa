#include "tests/models/leaving_world.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <utility>

#include "actors/membership/shutdown_agreement.h"
#include "tests/models/every_order.h"

namespace troupe::testing {
namespace {

using detail::ShutdownAgreement;
using Verdict = ShutdownAgreement::Verdict;

struct LeavingMessage {
  enum class Kind : std::uint8_t { up, down, ready, count, counted, refused, agreed, call, answer };
  Kind kind = Kind::up;
  char from = 0;
  char to = 0;
  int life = 0;                      // life of the sender; a message to a life that is over is lost
  bool last = false;                 // down only: the sender left, so it arrives after all its other messages
  std::uint64_t round = 0;           // count, counted, refused
  ShutdownAgreement::Count found{};  // counted
  std::size_t work = 0;              // call, answer
  std::size_t index = 0;             // index of the caller in the path
  std::uint64_t number = 0;          // order of sending; has no effect

  [[nodiscard]] auto fields() const {
    return std::tuple(kind, from, to, life, last, round, found.active, found.started, work, index);
  }
  friend bool operator<(const LeavingMessage& a, const LeavingMessage& b) { return a.fields() < b.fields(); }
};
using LeavingKind = LeavingMessage::Kind;

/// One part of a work, on one node.
struct Frame {
  std::size_t work = 0;
  std::size_t index = 0;
  bool called = false;
  friend auto operator<=>(const Frame&, const Frame&) = default;
};

struct Member {
  bool alive = false;
  bool ready = false;
  bool agreed = false;
  int life = 0;
  std::map<char, int> up = {};
  ShutdownAgreement agreement = {};
  bool count_again = false;
  std::set<std::pair<char, std::uint64_t>> ask_again = {};      // (member to ask, round)
  std::multiset<std::pair<char, std::uint64_t>> counting = {};  // unanswered requests for counts
  std::set<Frame> frames = {};
  std::set<std::pair<std::size_t, std::size_t>> pending = {};  // unanswered calls, by work and the caller's index
  std::uint64_t started = 0;
};

class LeavingWorld {
 public:
  LeavingWorld(const LeavingScript& script, LeavingExploration& seen)
      : script_(&script), seen_(&seen), refusals_(script.refusals), newcomer_left_(!script.newcomer.empty()) {
    for (const char name : script.members) {
      Member& member = members_[name];
      member.alive = true;
      for (const char other : script.members) {
        if (other != name) member.up[other] = 0;
      }
    }
    for (const char name : script.have_called) ++members_.at(name).started;
    for (std::size_t i = 0; i < script.works.size(); ++i)
      members_.at(script.works[i].path.front()).frames.insert({i, 0, false});
  }

  struct Event {
    enum class What : std::uint8_t {
      deliver,
      refuse,
      get_ready,
      call,
      end,
      count_again,
      ask_again,
      leave,
      crash,
      come
    };
    What what = What::deliver;
    char node = 0;
    const LeavingMessage* message = nullptr;  // for deliver and refuse: in the flight of the world that offers it
    Frame frame = {};                         // for call and end
    std::pair<char, std::uint64_t> asked = {};
  };
  using What = Event::What;

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> out;
    for (auto at = flight_.begin(); at != flight_.end(); at = flight_.upper_bound(*at)) {
      if (!can_arrive(*at)) continue;
      out.push_back({What::deliver, 0, &*at});
      if (refusals_ > 0 && at->kind == LeavingKind::count) out.push_back({What::refuse, 0, &*at});
    }
    for (const auto& [name, member] : members_) {
      if (!member.alive) continue;
      if (!member.ready) out.push_back({What::get_ready, name});
      for (const Frame& frame : member.frames) add_steps(out, name, member, frame);
      const bool may_count =
          member.agreement.round() <= script_->rounds_max || (nothing_under_way() && nobody_counts());
      if (member.count_again && may_count) out.push_back({What::count_again, name});
      for (const auto& asked : member.ask_again) out.push_back({What::ask_again, name, nullptr, {}, asked});
      if (member.agreed) out.push_back({What::leave, name});
      if (lost_ == 0 && script_->crashable.find(name) != std::string::npos) out.push_back({What::crash, name});
    }
    if (newcomer_left_) out.push_back({What::come, script_->newcomer.front()});
    if (script_->returns && lost_ != 0 && members_.at(lost_).life == 0) out.push_back({What::come, lost_});
    return out;
  }

  void apply(const Event& event) {
    const LeavingMessage message = event.message == nullptr ? LeavingMessage{} : *event.message;
    switch (event.what) {
      case What::deliver:
        flight_.erase(flight_.find(message));
        deliver(message);
        break;
      case What::refuse:
        --refusals_;
        flight_.erase(flight_.find(message));
        send(message.to, message.from, {.kind = LeavingKind::refused, .round = message.round});
        break;
      case What::get_ready:
        members_.at(event.node).ready = true;
        tell_ready(event.node);
        coordinate(event.node);
        break;
      case What::call: call(event.node, event.frame); break;
      case What::end: end(event.node, event.frame); break;
      case What::count_again:
        members_.at(event.node).count_again = false;
        count_all(event.node);
        break;
      case What::ask_again: ask_again(event.node, event.asked); break;
      case What::leave: go(event.node, true); break;
      case What::crash:
        lost_ = event.node;
        go(event.node, false);
        break;
      case What::come: come(event.node); break;
    }
  }

  static bool comes_of_itself(const Event& event) {
    return event.what != What::refuse && event.what != What::crash && event.what != What::come;
  }

  static std::string text(const Event& event) {
    static constexpr const char* kNames[] = {"deliver ",      "refuse ",     "ready: ", "call by ", "end on ",
                                             "count again: ", "ask again: ", "leave ",  "crash ",   "come "};
    std::string out = kNames[static_cast<std::size_t>(event.what)];
    if (event.node != 0) out += event.node;
    return event.message == nullptr ? out : out + text(*event.message);
  }

  // Returns the state on which later events depend, as text.
  [[nodiscard]] std::string key() const {
    std::string out;
    for (const auto& [name, member] : members_) {
      out += name;
      out += std::to_string(member.life);
      if (!member.alive) continue;
      out += member.ready ? "r" : "";
      out += member.agreed ? "a" : "";
      out += member.count_again ? "c" : "";
      out += member.agreement.text() + "^";
      for (const auto& [other, life] : member.up) out += other + std::to_string(life);
      for (const auto& [who, round] : member.ask_again) out += "?" + std::string(1, who) + std::to_string(round);
      for (const auto& [who, round] : member.counting) out += "!" + std::string(1, who) + std::to_string(round);
      for (const Frame& frame : member.frames)
        out += (frame.called ? "+" : "-") + std::to_string(frame.work) + "." + std::to_string(frame.index);
      for (const auto& [work, index] : member.pending) out += "*" + std::to_string(work) + "." + std::to_string(index);
      out += "s" + std::to_string(member.started) + "|";
    }
    for (const LeavingMessage& message : flight_) out += text(message) + "|";
    if (lost_ != 0) out += "#" + std::string(1, lost_);
    return out + (newcomer_left_ ? "n" : "") + std::to_string(refusals_);
  }

  // In a state where no event comes of itself, no member may wait for the others (MB-1 causes no endless wait).
  void check_end() const {
    for (const auto& [name, member] : members_)
      require(!member.alive, std::string(1, name) + " waits for ever: " + member.agreement.text());
    ++seen_->ends;
  }

 private:
  void add_steps(std::vector<Event>& out, char name, const Member& member, const Frame& frame) const {
    const LeavingWork& work = script_->works[frame.work];
    const bool is_last = frame.index + 1 == work.path.size();
    if (!is_last && !frame.called) out.push_back({What::call, name, nullptr, frame});
    const bool waits = work.waits && member.pending.contains({frame.work, frame.index});
    if (is_last || (frame.called && !waits)) out.push_back({What::end, name, nullptr, frame});
  }

  [[nodiscard]] bool nothing_under_way() const {
    return std::none_of(members_.begin(), members_.end(), [](const auto& named) {
      return !named.second.frames.empty() || !named.second.pending.empty();
    });
  }

  [[nodiscard]] bool nobody_counts() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& named) { return named.second.counting.empty(); });
  }

  // The session begins with `up` and ends with `down`. Between them messages have no order, but a goodbye is the last.
  [[nodiscard]] bool can_arrive(const LeavingMessage& message) const {
    if (message.kind == LeavingKind::up) return true;
    const auto& up = members_.at(message.to).up;
    const auto known = up.find(message.from);
    if (known == up.end() || known->second != message.life) return false;
    if (!message.last) return true;
    return std::count_if(flight_.begin(), flight_.end(), [&](const LeavingMessage& other) {
             return other.from == message.from && other.to == message.to;
           }) == 1;
  }

  void send(char from, char to, LeavingMessage message) {
    const Member& sender = members_.at(from);
    const Member& receiver = members_.at(to);
    const auto known = sender.up.find(to);
    if (!receiver.alive || known == sender.up.end() || known->second != receiver.life) return;
    message.from = from;
    message.to = to;
    message.life = sender.life;
    message.number = ++sent_;
    flight_.insert(message);
  }

  void deliver(const LeavingMessage& message) {
    Member& member = members_.at(message.to);
    switch (message.kind) {
      case LeavingKind::up: came(message.to, message.from, message.life); break;
      case LeavingKind::down: went(message.to, message.from); break;
      case LeavingKind::ready:
        member.agreement.ready({message.from});
        coordinate(message.to);
        break;
      case LeavingKind::count:
        if (own_count(member).active == 0 && call_is_on_its_way(message)) ++seen_->overtaken;
        send(message.to, message.from,
             {.kind = LeavingKind::counted, .round = message.round, .found = own_count(member)});
        break;
      case LeavingKind::counted:
        answered(member, message);
        if (message.round != member.agreement.round()) ++seen_->late_counts;
        member.agreement.counted({message.from}, message.round, message.found);
        coordinate(message.to);
        break;
      case LeavingKind::refused:
        answered(member, message);
        member.ask_again.emplace(message.from, message.round);
        break;
      case LeavingKind::agreed: member.agreed = true; break;
      case LeavingKind::call: serve(message); break;
      case LeavingKind::answer: member.pending.erase({message.work, message.index}); break;
    }
  }

  static void answered(Member& member, const LeavingMessage& message) {
    const auto asked = member.counting.find({message.from, message.round});
    if (asked != member.counting.end()) member.counting.erase(asked);
  }

  [[nodiscard]] bool call_is_on_its_way(const LeavingMessage& count) const {
    return std::any_of(flight_.begin(), flight_.end(), [&](const LeavingMessage& other) {
      return other.kind == LeavingKind::call && other.from == count.from && other.to == count.to &&
             other.number < count.number;
    });
  }

  // --- membership: the part of MembershipState
  // ------------------------------------------------------------------------

  void came(char at, char who, int life) {
    Member& member = members_.at(at);
    if (member.up.contains(who)) went(at, who);  // a new life has replaced it under its name
    member.up[who] = life;
    if (member.ready && first(at) == who) tell_ready(at);
  }

  void went(char at, char who) {
    Member& member = members_.at(at);
    const int life = member.up.at(who);
    member.up.erase(who);
    std::erase_if(flight_, [&](const LeavingMessage& message) {
      return message.to == at && message.from == who && message.life == life;
    });
    member.agreement.gone({who});
    if (member.ready && who < first(at)) tell_ready(at);
    coordinate(at);
    // The requests to it fail: a member that is not up is not counted again.
    std::erase_if(member.counting, [&](const auto& asked) { return asked.first == who; });
    std::erase_if(member.pending,
                  [&](const auto& call) { return script_->works[call.first].path[call.second + 1] == who; });
  }

  [[nodiscard]] static std::vector<NodeName> living(char self, const Member& member) {
    std::vector<NodeName> names{{self}};
    for (const auto& [name, life] : member.up) names.push_back({name});
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] char first(char at) const { return living(at, members_.at(at)).front().front(); }

  void tell_ready(char at) {
    Member& member = members_.at(at);
    member.agreement.ready({at});
    if (first(at) != at) send(at, first(at), {.kind = LeavingKind::ready});
  }

  void coordinate(char at) {
    Member& member = members_.at(at);
    if (!member.ready || member.agreed || first(at) != at) return;
    const auto names = living(at, member);
    const bool waits = member.agreement.awaits_some_of(names.size());
    const Verdict verdict = member.agreement.next(names);
    require(!waits || verdict == Verdict::wait, "waits for all, and does not wait");
    switch (verdict) {
      case Verdict::wait: return;
      case Verdict::count:
        if (member.agreement.round() > 1 && !nothing_under_way()) ++seen_->idle_in_vain;
        if (member.agreement.round() == 1) return count_all(at);
        member.count_again = true;
        return;
      case Verdict::count_later: member.count_again = true; return;
      case Verdict::agreed:
        check_agreement(at);
        for (const auto& [name, life] : member.up) send(at, name, {.kind = LeavingKind::agreed});
        member.agreed = true;
    }
  }

  void count_all(char at) {
    Member& member = members_.at(at);
    member.agreement.counted({at}, member.agreement.round(), own_count(member));
    for (const auto& [name, life] : member.up) ask(at, name);
    coordinate(at);
  }

  void ask(char at, char whom) {
    Member& member = members_.at(at);
    member.counting.emplace(whom, member.agreement.round());
    send(at, whom, {.kind = LeavingKind::count, .round = member.agreement.round()});
  }

  void ask_again(char at, std::pair<char, std::uint64_t> asked) {
    Member& member = members_.at(at);
    member.ask_again.erase(asked);
    if (asked.second == member.agreement.round() && member.up.contains(asked.first) && !member.agreed)
      ask(at, asked.first);
  }

  [[nodiscard]] static ShutdownAgreement::Count own_count(const Member& member) {
    return {member.frames.size() + member.pending.size() + member.counting.size(), member.started};
  }

  // MB-1: all living members are ready, and the only work still under way involves the crashed member.
  void check_agreement(char at) {
    ++seen_->agreements;
    if (lost_ == script_->members.front()) ++seen_->taken_over;
    for (const NodeName& name : living(at, members_.at(at))) {
      const Member& member = members_.at(name.front());
      const auto known = members_.at(at).up.find(name.front());
      if (!member.alive || (known != members_.at(at).up.end() && known->second != member.life)) continue;
      require(member.ready, "agreed while " + name + " is not ready");
      for (const Frame& frame : member.frames) require(is_of_the_dead(frame.work), "agreed while " + name + " works");
      for (const auto& [work, index] : member.pending)
        require(is_of_the_dead(work), "agreed while " + name + " waits for an answer");
    }
  }

  [[nodiscard]] bool is_of_the_dead(std::size_t work) const {
    return lost_ != 0 && script_->works[work].path.find(lost_) != std::string::npos;
  }

  // --- the work of the members
  // -----------------------------------------------------------------------------------------

  void call(char at, const Frame& frame) {
    Member& member = members_.at(at);
    const char to = script_->works[frame.work].path[frame.index + 1];
    member.frames.erase(frame);
    member.frames.insert({frame.work, frame.index, true});
    ++member.started;
    if (!member.up.contains(to)) return;  // the call fails at once
    member.pending.emplace(frame.work, frame.index);
    send(at, to, {.kind = LeavingKind::call, .work = frame.work, .index = frame.index});
  }

  void serve(const LeavingMessage& message) {
    members_.at(message.to).frames.insert({message.work, message.index + 1, false});
    if (!script_->works[message.work].waits) answer(message.to, message.from, message.work, message.index);
  }

  void end(char at, const Frame& frame) {
    const LeavingWork& work = script_->works[frame.work];
    members_.at(at).frames.erase(frame);
    if (work.waits && frame.index > 0) answer(at, work.path[frame.index - 1], frame.work, frame.index - 1);
  }

  void answer(char from, char to, std::size_t work, std::size_t index) {
    send(from, to, {.kind = LeavingKind::answer, .work = work, .index = index});
  }

  // --- crashes, returns and newcomers
  // -----------------------------------------------------------------------------------

  void go(char name, bool in_peace) {
    Member& member = members_.at(name);
    const int life = member.life;
    member = Member{};
    member.life = life;
    std::erase_if(flight_, [&](const LeavingMessage& message) {
      return message.to == name || (message.from == name && message.kind == LeavingKind::up);
    });
    for (auto& [other, survivor] : members_) {
      const auto known = survivor.up.find(name);
      if (!survivor.alive || known == survivor.up.end()) continue;
      flight_.insert(
          {.kind = LeavingKind::down, .from = name, .to = other, .life = life, .last = in_peace, .number = ++sent_});
    }
  }

  void come(char name) {
    newcomer_left_ = false;
    Member& member = members_[name];
    const bool returns = name == lost_;
    member.alive = true;
    member.life = returns ? 1 : 0;
    for (const auto& [other, peer] : members_) {
      if (other == name || !peer.alive) continue;
      flight_.insert({.kind = LeavingKind::up, .from = name, .to = other, .life = member.life, .number = ++sent_});
      flight_.insert({.kind = LeavingKind::up, .from = other, .to = name, .life = peer.life, .number = ++sent_});
    }
  }

  static std::string text(const LeavingMessage& message) {
    static constexpr const char* kNames[] = {"up",      "down",   "ready", "count", "counted",
                                             "refused", "agreed", "call",  "answer"};
    std::string out = std::string(1, message.from) + std::to_string(message.life) + "->" + message.to + " " +
                      kNames[static_cast<int>(message.kind)];
    if (message.last) out += " last";
    if (message.round != 0) out += " round " + std::to_string(message.round);
    if (message.kind == LeavingKind::counted)
      out += ": " + std::to_string(message.found.active) + "," + std::to_string(message.found.started);
    if (message.kind >= LeavingKind::call)
      out += " " + std::to_string(message.work) + "." + std::to_string(message.index);
    return out;
  }

  const LeavingScript* script_;
  LeavingExploration* seen_;
  int refusals_;
  bool newcomer_left_;
  char lost_ = 0;
  std::map<char, Member> members_;
  std::multiset<LeavingMessage> flight_;
  std::uint64_t sent_ = 0;
};

}  // namespace

LeavingExploration explore(const LeavingScript& script) {
  LeavingExploration seen;
  EveryOrder<LeavingWorld>(seen.states).visit(LeavingWorld(script, seen));
  return seen;
}

}  // namespace troupe::testing
