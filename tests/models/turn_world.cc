#include "tests/models/turn_world.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "actors/references/turn_queue.h"
#include "tests/models/every_order.h"

namespace troupe::testing {
namespace {

/// One use of the value. Uses made by functions are appended to those of the script.
struct Use {
  enum class State : std::uint8_t { unsent, sent, early, queued, begun, ended };
  char caller = 'A';
  std::string waits = {};
  bool cancellable = false;
  State state = State::unsent;
  std::size_t waited = 0;  // number of waits that have begun
  bool waits_now = false;
  bool wants_back = false;                // its wait has ended and it awaits its turn
  std::optional<std::size_t> asker = {};  // the use whose function made this one
  std::uint64_t sent = 0;
};

class TurnWorld {
 public:
  TurnWorld(const TurnScript& script, TurnExploration& seen)
      : script_(&script), seen_(&seen), has_value_(!script.value_is_late) {
    for (const TurnUse& use : script.uses) uses_.push_back({use.caller, use.waits, use.cancelled});
  }

  struct Event {
    enum class What : std::uint8_t {
      make_value,
      send,
      arrive,
      cancel,
      cancel_arrives,
      wait,
      wait_ends,
      end,
      answer_arrives,
      crash
    };
    What what = What::make_value;
    std::size_t use = 0;
    char node = 0;
  };
  using What = Event::What;
  using State = Use::State;

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> out;
    if (!has_value_) out.push_back({What::make_value});
    std::set<char> has_sent_next;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const Use& use = uses_[i];
      if (use.state == State::unsent && use.caller != lost_ && has_sent_next.insert(use.caller).second)
        out.push_back({What::send, i});
      if (use.cancellable && use.caller != lost_ && use.state != State::unsent && use.state != State::ended)
        out.push_back({What::cancel, i});
      if (use.state == State::begun) add_steps(out, i, use);
    }
    for (const auto& [caller, queue] : arriving_) {
      if (!queue.empty()) out.push_back({What::arrive, queue.front()});
    }
    for (const std::size_t use : cancels_) out.push_back({What::cancel_arrives, use});
    for (const std::size_t use : answers_) out.push_back({What::answer_arrives, use});
    if (lost_ == 0) {
      for (const char node : script_->crashable) out.push_back({What::crash, 0, node});
    }
    return out;
  }

  void apply(const Event& event) {
    switch (event.what) {
      case What::make_value:
        has_value_ = true;
        for (const std::size_t use : std::exchange(early_, {})) begin_or_queue(use);
        break;
      case What::send: send(event.use); break;
      case What::arrive: arrive(event.use); break;
      case What::cancel:
        uses_[event.use].cancellable = false;
        cancels_.insert(event.use);
        break;
      case What::cancel_arrives: cancel_arrives(event.use); break;
      case What::wait: wait(event.use); break;
      case What::wait_ends: go_on(event.use); break;
      case What::end: end(event.use); break;
      case What::answer_arrives:
        answers_.erase(event.use);
        go_on(*uses_[event.use].asker);
        break;
      case What::crash: crash(event.node); break;
    }
  }

  // In every state: one use at most has the turn (TQ-1), and no use waits for a free turn (TQ-3).
  void check() const {
    std::size_t with_turn = 0;
    for (const auto& [use, state] : turns_.uses()) with_turn += state == UseState::has_turn ? 1U : 0U;
    require(with_turn <= 1, "TQ-1: two have the turn");
    require(with_turn == 1 || turns_.waiting_count() == 0, "TQ-3: a use waits for a turn that nobody has");
  }

  // In a state where no event comes of itself every use has ended, also uses that waited for each other's calls.
  void check_end() const {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const bool never_left = uses_[i].state == State::unsent && uses_[i].caller == lost_;
      require(uses_[i].state == State::ended || never_left, "use " + std::to_string(i) + " waits for ever");
    }
    require(turns_.empty(), "a use that has ended is still in the queue");
    ++seen_->ends;
  }

  [[nodiscard]] std::string key() const {
    std::string out = has_value_ ? "v" : "";
    for (const Use& use : uses_) {
      out += "|" + std::to_string(static_cast<int>(use.state)) + std::to_string(use.waited);
      out += std::string(use.waits_now ? "w" : "") + (use.wants_back ? "b" : "") + (use.cancellable ? "c" : "") +
             use.caller;
      if (use.asker) out += std::to_string(*use.asker);
    }
    for (const auto& [caller, queue] : arriving_) {
      out += std::string(1, caller) + ":";
      for (const std::size_t use : queue) out += std::to_string(use) + ",";
    }
    const auto add = [&out](const char* what, const auto& all) {
      out += what;
      for (const std::size_t use : all) out += std::to_string(use) + ",";
    };
    add(" x", cancels_);
    add(" a", answers_);
    add(" e", early_);
    add(" n", waiting_);
    add(" r", returning_);
    add(" k", cancelled_first_);
    for (const auto& [use, state] : turns_.uses())
      out += " " + std::to_string(use.value) + "." + std::to_string(static_cast<int>(state));
    return out + lost_;
  }

  static bool comes_of_itself(const Event& event) { return event.what != What::cancel && event.what != What::crash; }

  static std::string text(const Event& event) {
    static constexpr const char* kNames[] = {"the value comes",    "send ",   "arrives: ",        "cancel ",
                                             "cancel arrives of ", "waits: ", "wait is over of ", "ends: ",
                                             "answer to ",         "crash "};
    const std::string out = kNames[static_cast<std::size_t>(event.what)];
    return event.node != 0 ? out + event.node : out + std::to_string(event.use);
  }

 private:
  void add_steps(std::vector<Event>& out, std::size_t i, const Use& use) const {
    if (use.waits_now) {
      if (!use.wants_back && use.waits[use.waited - 1] == '.') out.push_back({What::wait_ends, i});
    } else if (use.waited < use.waits.size()) {
      out.push_back({What::wait, i});
    } else {
      out.push_back({What::end, i});
    }
  }

  void send(std::size_t i) {
    uses_[i].state = State::sent;
    uses_[i].sent = ++sent_;
    arriving_[uses_[i].caller].push_back(i);
  }

  // --- the owner: the part of RRefOwnerState and ServedCalls
  // -----------------------------------------------------------

  void arrive(std::size_t i) {
    Use& use = uses_[i];
    arriving_[use.caller].pop_front();
    for (const auto& [caller, queue] : arriving_) {
      if (!queue.empty() && uses_[queue.front()].sent < use.sent) ++seen_->overtaken;
    }
    if (cancelled_first_.erase(i) > 0) return give_up(i);  // the use does not begin (CT-5)
    if (!has_value_) {
      use.state = State::early;
      early_.push_back(i);
    } else {
      begin_or_queue(i);
    }
  }

  void begin_or_queue(std::size_t i) {
    uses_[i].state = State::queued;
    waiting_.push_back(i);
    if (turns_.request({i})) begin(i);
  }

  void cancel_arrives(std::size_t i) {
    cancels_.erase(i);
    Use& use = uses_[i];
    if (use.state == State::sent) {
      ++seen_->early_cancels;
      cancelled_first_.insert(i);
    } else {
      withdraw(i);
    }
  }

  /// Withdraws a use that has not begun.
  void withdraw(std::size_t i) {
    const State state = uses_[i].state;
    if (state != State::early && state != State::queued) return;
    std::erase(early_, i);
    std::erase(waiting_, i);
    give_up(i);
    if (state == State::queued) require(!turns_.release({i}), "TQ-4: a use without a turn gave one on");
  }

  void give_up(std::size_t i) {
    ++seen_->given_up;
    finish(i);
  }

  void begin(std::size_t i) {
    require(returning_.empty(), "TQ-2: a use begins while another waits to go on");
    require(!waiting_.empty() && waiting_.front() == i, "TQ-1: a use begins before one that came earlier");
    for (const Use& other : uses_) {
      const bool is_waiting = other.state == State::sent || other.state == State::early || other.state == State::queued;
      require(!is_waiting || other.caller != uses_[i].caller || other.sent >= uses_[i].sent,
              "a caller's later use begins before an earlier one");
    }
    waiting_.pop_front();
    uses_[i].state = State::begun;
  }

  void granted(std::optional<TurnId> turn) {
    if (!turn) return;
    Use& use = uses_[turn->value];
    if (use.state == State::queued) return begin(turn->value);
    require(use.wants_back, "a use has a turn again that it did not ask for");
    require(returning_.front() == turn->value, "TQ-2: a use goes on before one whose wait ended earlier");
    if (!waiting_.empty()) ++seen_->went_on_first;
    returning_.pop_front();
    use.wants_back = use.waits_now = false;
  }

  void wait(std::size_t i) {
    const char on = uses_[i].waits[uses_[i].waited++];
    uses_[i].waits_now = true;
    if (on != '.') {  // the called function uses the value and does not wait
      Use nested{.caller = on};
      nested.asker = i;
      uses_.push_back(nested);
      send(uses_.size() - 1);
    }
    granted(turns_.suspend({i}));
  }

  void go_on(std::size_t i) {
    uses_[i].wants_back = true;
    returning_.push_back(i);
    if (turns_.resume({i})) granted(TurnId{i});
  }

  void end(std::size_t i) {
    finish(i);
    granted(turns_.release({i}));
  }

  void finish(std::size_t i) {
    require(uses_[i].state != State::ended, "use " + std::to_string(i) + " ends twice");
    uses_[i].state = State::ended;
    if (uses_[i].asker) answers_.insert(i);
  }

  void crash(char node) {
    lost_ = node;
    // No message of the node arrives any more, and its waiting uses do not begin. Functions that wait for its calls
    // continue.
    arriving_.erase(node);
    std::erase_if(cancels_, [&](std::size_t use) { return uses_[use].caller == node; });
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].caller != node) continue;
      const auto asker = answers_.contains(i) ? std::nullopt : std::exchange(uses_[i].asker, std::nullopt);
      if (asker && uses_[i].state != State::ended) go_on(*asker);
      if (uses_[i].state == State::sent) {
        cancelled_first_.erase(i);
        give_up(i);
      } else {
        withdraw(i);
      }
    }
  }

  const TurnScript* script_;
  TurnExploration* seen_;
  std::vector<Use> uses_;
  bool has_value_;
  char lost_ = 0;
  std::uint64_t sent_ = 0;
  TurnQueue turns_;
  std::map<char, std::deque<std::size_t>> arriving_;  // messages in flight, by caller
  std::set<std::size_t> cancels_;                     // cancels in flight
  std::set<std::size_t> answers_;
  std::set<std::size_t> cancelled_first_;  // cancels that arrived before their use
  std::vector<std::size_t> early_;         // uses that arrived before the value
  std::deque<std::size_t> waiting_;        // uses that have not begun, in order of arrival
  std::deque<std::size_t> returning_;      // uses whose waits have ended, in that order
};

}  // namespace

TurnExploration explore(const TurnScript& script) {
  TurnExploration seen;
  EveryOrder<TurnWorld>(seen.states).visit(TurnWorld(script, seen));
  return seen;
}

}  // namespace troupe::testing
