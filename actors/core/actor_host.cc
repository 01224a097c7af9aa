#include <algorithm>
#include <caf/detail/thread_safe_actor_clock.hpp>
#include <caf/policy/work_sharing.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "actors/core/caf.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kMessagesPerResume = 64;
constexpr int kRoundsInline = 64;  // then a flooded actor moves to the scheduler and the sending thread returns

/// Runs, on the thread that made it, the actor that its message woke. A woken actor that is not run would stay silent
/// for ever, so storing one never allocates.
class InlineUnit final : public caf::execution_unit {
 public:
  explicit InlineUnit(caf::actor_system& system) : caf::execution_unit(&system) {}

  void exec_later(caf::resumable* job) override {
    if (job_ == nullptr) {
      job_ = job;
    } else if (!give_to_scheduler(job)) {
      run_to_end(job);
    }
  }

  void run() {
    while (caf::resumable* job = std::exchange(job_, nullptr)) run_to_end(job);
  }

 private:
  void run_to_end(caf::resumable* job) {
    int round = 1;
    while (job->resume(this, kMessagesPerResume) == caf::resumable::resume_later) {
      if (++round > kRoundsInline && give_to_scheduler(job)) return;
    }
    caf::intrusive_ptr_release(job);
  }

  /// Returns false if there is no memory.
  bool give_to_scheduler(caf::resumable* job) {
    try {
      system().scheduler().enqueue(job);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  caf::resumable* job_ = nullptr;
};

/// CAF's clock is told of the end of each actor, and wakes a thread for it: that costs more than the rest of a short
/// actor's life. Actors have no timers of CAF (they use the node's Clock), so there is nothing to cancel.
class NoTimers final : public caf::detail::thread_safe_actor_clock {
 public:
  void set_ordinary_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override { refuse(); }
  void set_request_timeout(time_point, caf::abstract_actor*, caf::message_id) override { refuse(); }
  void set_multi_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override { refuse(); }
  void schedule_message(time_point, caf::strong_actor_ptr, caf::mailbox_element_ptr) override { refuse(); }
  void schedule_message(time_point, caf::group, caf::strong_actor_ptr, caf::message) override { refuse(); }
  void cancel_ordinary_timeout(caf::abstract_actor*, caf::atom_value) override {}
  void cancel_request_timeout(caf::abstract_actor*, caf::message_id) override {}
  void cancel_timeouts(caf::abstract_actor*) override {}

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("[ActorHost] timers are those of the node's clock"); }
};

/// CAF's scheduler, for actors that are flooded.
class Scheduler final : public caf::scheduler::coordinator<caf::policy::work_sharing> {
 public:
  using coordinator::coordinator;
  NoTimers& clock() noexcept override { return clock_; }

 private:
  NoTimers clock_;
};

// Of looks whether all actors have ended.
constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::microseconds kLongestPause{2000};

class InlineHost final : public ActorHost {
 public:
  InlineHost() { forget_system_on_this_thread(); }

  ~InlineHost() override {
    // A running actor would block CAF's destructor for ever. stop() has reported it; the system is leaked.
    if (parts_->system.registry().running() > 0) static_cast<void>(parts_.release());
  }

  caf::actor_system& system() override { return parts_->system; }

  std::vector<std::string> stop(TimePoint due) override {
    due = std::max(due, TimePoint(std::chrono::steady_clock::now() + kActorsEnd));
    for (auto pause = kFirstPause; parts_->system.registry().running() > 0;
         pause = std::min(2 * pause, kLongestPause)) {
      if (std::chrono::steady_clock::now() >= due) {
        return {std::to_string(parts_->system.registry().running()) + " actors have not ended"};
      }
      std::this_thread::sleep_for(pause);
    }
    return {};
  }

 protected:
  void enqueue(const caf::strong_actor_ptr& actor, caf::mailbox_element_ptr element) override {
    if (!actor) return;
    InlineUnit unit(parts_->system);
    actor->enqueue(std::move(element), &unit);
    unit.run();
  }

 private:
  struct Config : caf::actor_system_config {
    Config() {
      module_factories.emplace_back([](caf::actor_system& system) { return new Scheduler(system); });
      set("scheduler.max-threads", 1U);
      set("logger.verbosity", caf::atom("quiet"));
    }
  };
  struct Parts {
    Config config;
    caf::actor_system system{config};
  };
  std::unique_ptr<Parts> parts_ = std::make_unique<Parts>();
};

}  // namespace

void ActorHost::watch(caf::abstract_actor* actor, std::string_view what, Lost lost) {
  dynamic_cast<caf::scheduled_actor&>(*actor).set_exception_handler(
      [what, lost = std::move(lost)](caf::scheduled_actor*, std::exception_ptr& exception) noexcept -> caf::error {
        try {
          std::rethrow_exception(exception);
        } catch (...) {
          lost(failure_of_current_exception(what));
        }
        return caf::sec::runtime_error;
      });
}

std::unique_ptr<ActorHost> make_inline_host() { return std::make_unique<InlineHost>(); }

}  // namespace troupe::detail
