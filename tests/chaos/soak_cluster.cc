#include "tests/chaos/soak_cluster.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "node/log.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"

namespace troupe::testing {

using namespace std::chrono_literals;

void Whistle::blow() {
  const std::lock_guard lock(mutex_);
  blown_ = true;
  changed_.notify_all();
}

void Whistle::wait_for(std::chrono::steady_clock::duration time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return blown_.load(); });
}

SoakCluster::SoakCluster(const std::string& log_level) {
  if (!log_level.empty()) log_to_stderr(log_level);
  ProcessPlan plan;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    plan.others.push_back(
        {.name = kNames[i], .log_level = log_level, .bind = wires_[i].target(), .advertise = wires_[i].address()});
  }
  cluster_ = std::make_unique<TestCluster>(std::move(plan));
  trainer().on_down([this](const Peer&, const Error&) { ++deaths_; });
}

void SoakCluster::run(std::chrono::seconds time, std::uint32_t seed, const std::function<void(Whistle&)>& load) {
  Whistle end;
  {
    const std::jthread loader([&] { load(end); });
    const std::jthread disturber([&] { disturb(end, seed); });
    end.wait_for(time);
    end.blow();
  }
  cluster_->expect_settled();
}

void SoakCluster::disturb(Whistle& end, std::uint32_t seed) {
  std::mt19937 random(seed);
  while (!end.blown()) {
    end.wait_for(std::chrono::milliseconds(500 + random() % 2500));
    const std::size_t which = random() % kNames.size();
    if (random() % 3 == 0) {
      wires_[which].cut();
      ++cuts_;
    } else {
      cluster_->signal(kNames[which], SIGSTOP);
      end.wait_for(std::chrono::milliseconds(500 + random() % 1500));
      cluster_->signal(kNames[which], SIGCONT);
      ++stalls_;
    }
  }
}

std::map<std::string, std::size_t> SoakCluster::resident_mib() {
  const auto due = std::chrono::steady_clock::now() + 60s;
  const auto bytes = [this] {
    std::uint64_t sum = bytes_of_tensors();
    for (const char* name : kNames) sum += trainer().rpc_sync(name, &bytes_of_tensors);
    return sum;
  };
  while (bytes() != 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(bytes() == 0U);
  std::map<std::string, std::size_t> found{{"trainer", process_use(getpid()).resident_bytes >> 20}};
  for (const char* name : kNames) found[name] = process_use(cluster_->process(name).pid()).resident_bytes >> 20;
  return found;
}

std::chrono::seconds time_of_this_soak() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  return std::chrono::seconds(suite.argc > 1 ? std::stoi(suite.argv[1]) : 600);
}

std::string text_of(const std::map<std::string, std::size_t>& resident_mib) {
  std::string text;
  for (const auto& [name, mib] : resident_mib) text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, mib);
  return text;
}

}  // namespace troupe::testing
