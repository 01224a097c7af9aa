#include "node/sim/sim_host.h"

#include <algorithm>
#include <caf/scheduler/test_coordinator.hpp>
#include <string>
#include <utility>

#include "actors/core/caf.h"

namespace troupe::sim {
namespace {

class SimHost final : public detail::ActorHost, private Source {
 public:
  SimHost(std::shared_ptr<Schedule> schedule, NodeName node)
      : schedule_(std::move(schedule)),
        node_(std::move(node)),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator*>(&parts_->system.scheduler())) {
    schedule_->add(*this);
  }

  ~SimHost() override {
    schedule_->remove(*this);
    drain();
    // A running actor would block CAF's destructor for ever. stop() has reported it; the system is leaked.
    if (parts_->system.registry().running() > 0) static_cast<void>(parts_.release());
  }

  caf::actor_system& system() override { return parts_->system; }

  std::vector<std::string> stop(TimePoint) override {
    drain();
    const std::size_t running = parts_->system.registry().running();
    if (running == 0) return {};
    return {std::to_string(running) + " actors have not ended"};
  }

  void handle_at_once() {
    at_once_ = true;
    drain();
  }

 protected:
  void enqueue(const caf::strong_actor_ptr& actor, caf::mailbox_element_ptr element) override {
    schedule_->require_baton("message to an actor");
    if (!actor || schedule_->ended()) return;
    actor->enqueue(std::move(element), nullptr);
    schedule_->has_items(*this);
    if (at_once_ && !draining_) drain();
  }

 private:
  struct Config : caf::actor_system_config {
    Config() {
      set("scheduler.policy", caf::atom("testing"));
      set("logger.verbosity", caf::atom("quiet"));
    }
  };
  struct Parts {
    Config config;
    caf::actor_system system{config};
  };

  [[nodiscard]] const NodeName& node() const override { return node_; }
  [[nodiscard]] std::size_t ready() override { return scheduler_->jobs.size(); }

  [[nodiscard]] std::string_view describe(std::size_t index) override {
    const auto* actor = dynamic_cast<caf::local_actor*>(scheduler_->jobs[index]);
    return actor != nullptr ? actor->name() : "actor";
  }

  void run(std::size_t index) override {
    auto& jobs = scheduler_->jobs;
    const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(index);
    std::rotate(jobs.begin(), chosen, chosen + 1);
    scheduler_->run_once();
  }

  /// CAF has no timers here: timers belong to the node's clock.
  [[nodiscard]] std::optional<TimePoint> next_due() override { return std::nullopt; }

  [[nodiscard]] bool empty() override { return !scheduler_->has_job(); }

  void drain() {
    draining_ = true;
    while (scheduler_->has_job()) scheduler_->run_once();
    draining_ = false;
  }

  const std::shared_ptr<Schedule> schedule_;
  const NodeName node_;
  bool at_once_ = false;
  bool draining_ = false;
  std::unique_ptr<Parts> parts_ = std::make_unique<Parts>();
  caf::scheduler::test_coordinator* const scheduler_;
};

}  // namespace

std::unique_ptr<detail::ActorHost> make_sim_host(std::shared_ptr<Schedule> schedule, NodeName node) {
  return std::make_unique<SimHost>(std::move(schedule), std::move(node));
}

void handle_at_once(detail::ActorHost& host) { dynamic_cast<SimHost&>(host).handle_at_once(); }

}  // namespace troupe::sim
