#include "tests/models/receiving_world.h"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "node/links/shared_memory/receiving_role.h"
#include "tests/models/every_order.h"

namespace troupe::testing {
namespace {

using detail::Berth;
using detail::ReceivingRole;

std::size_t index_of(Berth berth) { return static_cast<std::size_t>(berth); }

class ReceivingWorld {
 public:
  ReceivingWorld(const ReceivingScript& script, ReceivingExploration& seen) : script_(&script), seen_(&seen) {
    role_.open();  // by the own thread, which has it first
    threads_.push_back({.kind = Kind::own});
    if (script.waits) threads_.push_back({.kind = Kind::waiter});
    for (int i = 0; i < script.idle_threads; ++i) threads_.push_back({.kind = Kind::idle});
    for (int i = 0; i < script.ringers; ++i) ringers_.push_back({.left = script.rings_each});
    jobs_to_come_ = script.jobs_from_outside;
  }

  struct Event {
    enum class What : std::uint8_t { step, time_is_over, deadline, ring, die, job };
    What what = What::step;
    std::size_t who = 0;
  };
  using What = Event::What;

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> out;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const Thread& thread = threads_[i];
      if (can_step(thread)) out.push_back({What::step, i});
      // A death may take a wake-up along: only then is the time-out of sleeping threads needed.
      if (thread.at == At::asleep && thread.kind != Kind::idle && somebody_died_ && bells_ != 0)
        out.push_back({What::time_is_over, i});
      const bool may_be_late =
          thread.at == At::asleep || thread.at == At::sleeps_without_role || thread.at == At::looks;
      if (thread.kind == Kind::waiter && script_->has_deadline && may_be_late) out.push_back({What::deadline, i});
    }
    for (std::size_t i = 0; i < ringers_.size(); ++i) {
      const Ringer& ringer = ringers_[i];
      if (ringer.dead || (ringer.step == 0 && ringer.left == 0)) continue;
      out.push_back({What::ring, i});
      if (script_->a_ringer_may_die && !somebody_died_) out.push_back({What::die, i});
    }
    if (jobs_to_come_ > 0) out.push_back({What::job});
    return out;
  }

  static bool comes_of_itself(const Event& event) { return event.what != What::deadline && event.what != What::die; }

  void apply(const Event& event) {
    switch (event.what) {
      case What::step: return step(threads_[event.who]);
      case What::time_is_over: threads_[event.who].at = after_sleep(threads_[event.who]); return;
      case What::deadline:
        threads_[event.who].at = threads_[event.who].at == At::sleeps_without_role ? At::gone : At::forgets_signal;
        return;
      case What::ring: return ring(ringers_[event.who], event.who);
      case What::die:
        ringers_[event.who].dead = true;
        somebody_died_ = true;
        ++seen_->deaths;
        return;
      case What::job:
        --jobs_to_come_;
        submit_job(nullptr);
        return;
    }
  }

  void check() const {
    int receiving = 0;
    for (const Thread& thread : threads_) receiving += thread.has_role ? 1 : 0;
    require(receiving <= 1, "two threads receive");
  }

  void check_end() const {
    ++seen_->ends;
    require(bells_ == 0, "a message stays unread while all threads sleep");
    const bool answer_came = (received_ & 1U) != 0;
    for (const Thread& thread : threads_) {
      if (thread.kind == Kind::waiter) require(thread.at == At::gone || !answer_came, "a wait does not end");
      if (thread.kind == Kind::idle && jobs_ > 0) require(false, "a job waits, and an idle thread sleeps");
    }
  }

  [[nodiscard]] std::string key() const {
    std::string out = std::to_string(bells_) + "," + std::to_string(received_) + "," + std::to_string(jobs_) + "," +
                      std::to_string(jobs_to_come_) + "," + std::to_string(index_of(expected_)) +
                      (somebody_died_ ? "d" : "");
    for (const bool woken : woken_) out += woken ? '1' : '0';
    out += role_.is_free() ? "f" : "t";
    out += std::to_string(index_of(role_.next()));
    for (const Thread& t : threads_) {
      out += "|" + std::to_string(static_cast<int>(t.at)) + std::to_string(index_of(t.wakes));
      out += std::string(t.has_role ? "r" : "") + (t.signalled ? "s" : "") + (t.registered ? "w" : "") +
             (t.counted ? "c" : "");
    }
    for (const Ringer& r : ringers_)
      out += "/" + std::to_string(r.left) + std::to_string(r.step) + std::to_string(index_of(r.wakes)) +
             (r.dead ? "x" : "");
    return out;
  }

  static std::string text(const Event& event) {
    static constexpr std::array<const char*, 6> kNames{"step of thread ",     "time is over for thread ",
                                                       "deadline of thread ", "step of ringer ",
                                                       "death of ringer ",    "a job comes "};
    return kNames.at(static_cast<std::size_t>(event.what)) + std::to_string(event.who);
  }

 private:
  enum class Kind : std::uint8_t { own, waiter, idle };

  /// Where a thread is in the code of ring_receiver.cc; what it does next.
  enum class At : std::uint8_t {
    becomes_idle,
    asks_for_signal,
    looks,  ///< whether it is over, or what was rung
    settles,
    releases,
    looks_again,
    wakes_next,
    checks_signal,
    asleep,
    settles_after_sleep,
    takes_role,
    forgets_signal,
    is_idle_no_longer,
    sleeps_without_role,  ///< a waiting thread that did not get the role
    works,
    gone,
  };

  struct Thread {
    Kind kind = Kind::own;
    At at = At::looks;
    bool has_role = false;
    bool signalled = false;   ///< of its wait point
    bool registered = false;  ///< the signal wakes its berth
    bool counted = false;     ///< of the pool's at_work
    Berth wakes = Berth::nobody;
    bool begun = false;
  };

  struct Ringer {
    int left = 0;
    int step = 0;
    Berth wakes = Berth::nobody;
    bool dead = false;
  };

  static Berth berth_of(const Thread& thread) {
    return thread.kind == Kind::own ? Berth::receiver : thread.kind == Kind::waiter ? Berth::waiter : Berth::idle;
  }

  [[nodiscard]] bool can_step(const Thread& thread) const {
    switch (thread.at) {
      case At::gone: return false;
      case At::asleep: return woken_.at(index_of(berth_of(thread)));
      case At::sleeps_without_role: return thread.signalled;
      default: return true;
    }
  }

  static At after_sleep(const Thread& thread) {
    return thread.kind == Kind::waiter ? At::looks : At::settles_after_sleep;
  }

  void step(Thread& thread) {
    if (!std::exchange(thread.begun, true)) begin(thread);
    switch (thread.kind) {
      case Kind::own: return step_own(thread);
      case Kind::waiter: return step_waiter(thread);
      case Kind::idle: return step_idle(thread);
    }
  }

  static void begin(Thread& thread) {
    thread.has_role = thread.kind == Kind::own;
    thread.at = thread.kind == Kind::own ? At::looks : thread.kind == Kind::waiter ? At::takes_role : At::becomes_idle;
  }

  // run() and wait_for_role()
  void step_own(Thread& thread) {
    switch (thread.at) {
      case At::looks: thread.at = receive(thread) ? At::looks : At::settles; return;
      case At::settles: settle(thread, At::releases); return;
      case At::takes_role: thread.at = take(thread) ? At::looks : At::asleep; return;
      default: return step_common(thread, At::asleep);
    }
  }

  // work_until() and receive_until()
  void step_waiter(Thread& thread) {
    switch (thread.at) {
      case At::takes_role: thread.at = take(thread) ? At::asks_for_signal : At::sleeps_without_role; return;
      case At::asks_for_signal:
        thread.registered = !thread.signalled;
        thread.at = thread.signalled ? At::forgets_signal : At::looks;
        return;
      case At::looks:
        if (thread.signalled) thread.at = At::forgets_signal;
        else if (!receive(thread)) thread.at = At::settles;
        return;
      case At::settles: settle(thread, At::is_idle_no_longer); return;
      case At::is_idle_no_longer:  // here: expects to be woken
        expected_ = Berth::waiter;
        thread.at = At::looks_again;
        return;
      case At::looks_again:
        if (!thread.has_role) return step_common(thread, At::gone);
        thread.at = bells_ != 0 ? At::looks : At::checks_signal;
        return;
      case At::checks_signal: thread.at = thread.signalled ? At::looks : At::asleep; return;
      case At::asleep: thread.at = At::looks; return;
      case At::forgets_signal:
        thread.registered = false;
        thread.at = At::releases;
        return;
      case At::sleeps_without_role: thread.at = At::gone; return;
      default: return step_common(thread, At::gone);
    }
  }

  // work_while_idle() and receive_while_idle(), between them the pool's be_idle()
  void step_idle(Thread& thread) {
    switch (thread.at) {
      case At::becomes_idle:
        if (jobs_ > 0) {
          thread.at = At::works;
          return;
        }
        thread.signalled = false;
        if (!role_.add_idle()) {
          thread.at = At::sleeps_without_role;  // until the pool wakes it for a job
          return;
        }
        if (role_.is_free()) expected_ = Berth::idle;
        thread.counted = true;
        thread.at = At::asks_for_signal;
        return;
      case At::asks_for_signal:
        thread.registered = !thread.signalled;
        thread.at = thread.signalled ? At::forgets_signal : At::settles;
        return;
      case At::settles: settle(thread, thread.has_role ? At::releases : At::takes_role); return;
      case At::takes_role: thread.at = take(thread) ? At::looks : At::checks_signal; return;
      case At::looks:
        if (thread.signalled || !receive(thread)) thread.at = At::settles;
        return;
      case At::checks_signal: thread.at = thread.signalled ? At::forgets_signal : At::asleep; return;
      case At::settles_after_sleep:
      case At::asleep: thread.at = thread.signalled ? At::forgets_signal : At::settles; return;
      case At::forgets_signal:
        thread.registered = false;
        thread.at = At::is_idle_no_longer;
        return;
      case At::is_idle_no_longer:
        role_.remove_idle();
        thread.counted = false;
        thread.wakes = Berth::receiver;
        if (role_.is_free()) {
          expected_ = Berth::receiver;
          thread.at = At::looks_again;
        } else {
          thread.at = At::works;
        }
        return;
      case At::sleeps_without_role: thread.at = At::works; return;
      case At::works:
        thread.signalled = false;
        if (jobs_ > 0) --jobs_;
        thread.at = At::becomes_idle;
        return;
      default: return step_common(thread, thread.counted ? At::checks_signal : At::works);
    }
  }

  // release_role() and the end of be_idle_no_longer(); then the thread is at `then`.
  void step_common(Thread& thread, At then) {
    switch (thread.at) {
      case At::releases:
        require(thread.has_role, "a thread gives back what it does not have");
        thread.has_role = false;
        role_.release();
        thread.wakes = role_.next();
        expected_ = thread.wakes;
        thread.at = At::looks_again;
        return;
      case At::looks_again: thread.at = bells_ != 0 ? At::wakes_next : then; return;
      case At::wakes_next:
        woken_.at(index_of(thread.wakes)) = true;
        thread.at = then;
        return;
      case At::asleep: thread.at = At::settles_after_sleep; return;
      case At::settles_after_sleep: settle(thread, At::takes_role); return;
      default: require(false, "no such step");
    }
  }

  void settle(Thread& thread, At then) {
    woken_.at(index_of(berth_of(thread))) = false;
    thread.at = then;
  }

  bool take(Thread& thread) {
    if (!role_.take()) return false;
    expected_ = Berth::nobody;
    thread.has_role = true;
    return true;
  }

  /// Takes all bells and their messages.
  bool receive(Thread& thread) {
    const unsigned rung = std::exchange(bells_, 0);
    if (rung == 0) return false;
    received_ |= rung;
    (thread.kind == Kind::own ? seen_->by_own : thread.kind == Kind::waiter ? seen_->by_waiter : seen_->by_idle) += 1;
    if ((rung & 1U) != 0) {
      for (Thread& other : threads_) {
        if (other.kind == Kind::waiter) signal(other, &thread);
      }
    }
    if (script_->job_from_message && (rung >> (ringers_.size() - 1)) != 0) submit_job(&thread);
    return true;
  }

  void signal(Thread& thread, const Thread* by) {
    thread.signalled = true;
    if (thread.registered && &thread != by) woken_.at(index_of(berth_of(thread))) = true;
  }

  // ElasticPool::take() and wake_one_for_job()
  void submit_job(const Thread* by) {
    ++jobs_;
    Thread* other = nullptr;
    for (Thread& thread : threads_) {
      if (thread.kind != Kind::idle || thread.signalled || !thread.begun) continue;
      if (&thread == by && thread.counted) return signal(thread, by);
      if (thread.counted || thread.at == At::sleeps_without_role) other = &thread;
    }
    if (other != nullptr) signal(*other, by);
  }

  // Doorbell::ring()
  void ring(Ringer& ringer, std::size_t number) {
    switch (ringer.step++) {
      case 0: bells_ |= 1U << number; return;
      case 1:
        if (expected_ != Berth::nobody) return;
        break;
      case 2:
        ringer.wakes = std::exchange(expected_, Berth::nobody);
        if (ringer.wakes != Berth::nobody) return;
        break;
      default: woken_.at(index_of(ringer.wakes)) = true; break;
    }
    ringer.step = 0;
    ringer.wakes = Berth::nobody;
    --ringer.left;
  }

  const ReceivingScript* script_;
  ReceivingExploration* seen_;
  std::vector<Thread> threads_;
  std::vector<Ringer> ringers_;
  unsigned bells_ = 0;
  unsigned received_ = 0;
  int jobs_ = 0;
  int jobs_to_come_ = 0;
  Berth expected_ = Berth::nobody;
  std::array<bool, 4> woken_{};  // by berth
  ReceivingRole role_;
  bool somebody_died_ = false;
};

}  // namespace

ReceivingExploration explore(const ReceivingScript& script) {
  ReceivingExploration seen;
  EveryOrder<ReceivingWorld>(seen.states).visit(ReceivingWorld(script, seen));
  return seen;
}

}  // namespace troupe::testing
