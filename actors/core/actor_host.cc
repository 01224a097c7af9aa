#include <algorithm>
#include <caf/actor_clock.hpp>
#include <caf/actor_registry.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
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
class NoTimers final : public caf::actor_clock {
 public:
  void set_ordinary_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override { refuse(); }
  void set_request_timeout(time_point, caf::abstract_actor*, caf::message_id) override { refuse(); }
  void set_multi_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override { refuse(); }
  void schedule_message(time_point, caf::strong_actor_ptr, caf::mailbox_element_ptr) override { refuse(); }
  void schedule_message(time_point, caf::group, caf::strong_actor_ptr, caf::message) override { refuse(); }
  void cancel_ordinary_timeout(caf::abstract_actor*, caf::atom_value) override {}
  void cancel_request_timeout(caf::abstract_actor*, caf::message_id) override {}
  void cancel_timeouts(caf::abstract_actor*) override {}
  void cancel_all() override {}

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("[ActorHost] timers are those of the node's clock"); }
};

/// CAF's scheduler, for actors that are flooded: one thread. CAF's own has a thread more for timers and one for a
/// printer, which actors do not use, and ends the process if the system refuses one of them.
class Scheduler final : public caf::scheduler::abstract_coordinator {
 public:
  using abstract_coordinator::abstract_coordinator;
  ~Scheduler() override { let_go(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The last step of the system's constructor that can fail. Throws std::system_error.
  void start() override try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    let_go();
    throw;
  }

  /// Runs the queued actors and ends the thread.
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      woken_.notify_one();
    }
    thread_.join();
  }

  void enqueue(caf::resumable* job) override {
    Jobs one{job};
    const std::lock_guard lock(mutex_);
    jobs_.splice(jobs_.end(), one);
    woken_.notify_one();  // with the lock: without it `job` may end, and the system with it
  }

  NoTimers& clock() noexcept override { return clock_; }

 private:
  using Jobs = std::list<caf::resumable*>;  // moved between lists without allocating

  /// Where the system's constructor fails, its registry would destroy actors after this scheduler, which they use then,
  /// and this thread would keep the system's logger, which uses the system when it ends.
  void let_go() {
    for (const auto name : {caf::atom("SpawnServ"), caf::atom("ConfigServ")}) system().registry().erase(name);
    forget_system_on_this_thread();
  }

  void run() noexcept {
    InlineUnit unit(system());
    Jobs job;
    std::unique_lock lock(mutex_);
    while (true) {
      woken_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job.splice(job.begin(), jobs_, jobs_.begin());
      lock.unlock();
      if (job.front()->resume(&unit, kMessagesPerResume) != caf::resumable::resume_later) {
        caf::intrusive_ptr_release(job.front());
        job.clear();
      }
      unit.run();
      lock.lock();
      jobs_.splice(jobs_.end(), job);
    }
  }

  NoTimers clock_;
  std::mutex mutex_;
  std::condition_variable woken_;
  Jobs jobs_;              // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
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
      module_factories.emplace_back([](caf::actor_system& system) {
        forget_system_on_this_thread();  // until there is a Scheduler that does it if the system's constructor fails
        return new Scheduler(system);
      });
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
