#include "node/idle_memory.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "actors/link.h"
#include "node/local_cluster.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(idle_memory)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(what_tensors_need_no_more_goes_back_while_nodes_run_and_what_they_use_stays) {
  constexpr std::size_t kSize = std::size_t{200} << 20U;
  CachingAllocator memory;
  LocalCluster cluster{{"a", "b"}, FunctionRegistry{}};
  return_idle_memory(cluster.node("a").shared_state()->node, memory, 1ms);
  return_idle_memory(cluster.node("b").shared_state()->node, memory, 1ms);
  std::byte* const used = memory.allocate(kSize);
  for (int i = 0; i < 2; ++i) {
    memory.deallocate(memory.allocate(kSize), kSize);
    const auto due = std::chrono::steady_clock::now() + 10s;
    while (memory.statistics().bytes_cached != 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    BOOST_TEST(memory.statistics().bytes_cached == 0U);
    BOOST_TEST(memory.statistics().bytes_live == kSize);
  }
  memory.deallocate(used, kSize);
}

/// A link that shares what the test says, over another one.
class SharesMemory final : public Link {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable released;
    SharedMemoryUse use;  ///< guarded by mutex; nothing is left after a release
    int calls = 0;        ///< guarded by mutex
  };
  SharesMemory(std::unique_ptr<Link> inner, std::shared_ptr<State> state)
      : inner_(std::move(inner)), state_(std::move(state)) {}

  void start(LinkSink& sink) override { inner_->start(sink); }
  [[nodiscard]] std::string address() const override { return inner_->address(); }
  [[nodiscard]] bool guards_bytes() const override { return inner_->guards_bytes(); }
  [[nodiscard]] bool shares_memory() const override { return inner_->shares_memory(); }
  void connect(std::string_view address) override { inner_->connect(address); }
  void connect_to(const NodeName& name, std::string_view address) override { inner_->connect_to(name, address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override { inner_->send(to, lane, std::move(packet)); }
  void disconnect(const NodeName& peer, const Farewell& farewell) override { inner_->disconnect(peer, farewell); }
  void stop() override { inner_->stop(); }

  [[nodiscard]] std::optional<SharedMemoryUse> shared_memory() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->use;
  }
  void release_unused(TimePoint /*now*/, Duration /*idle*/) override {
    const std::lock_guard lock(state_->mutex);
    state_->use = {};
    ++state_->calls;
    state_->released.notify_all();
  }

 private:
  const std::unique_ptr<Link> inner_;
  const std::shared_ptr<State> state_;
};

BOOST_AUTO_TEST_CASE(shared_memory_goes_back_also_where_all_of_it_is_on_gpus) {
  for (const auto member : {&SharedMemoryUse::bytes, &SharedMemoryUse::gpu_bytes}) {
    const auto state = std::make_shared<SharesMemory::State>();
    state->use.*member = 1;
    CachingAllocator memory;
    LocalClusterOptions options;
    options.wrap_link = [&](std::unique_ptr<Link> inner) {
      return std::make_unique<SharesMemory>(std::move(inner), state);
    };
    LocalCluster cluster{{"a"}, FunctionRegistry{}, options};
    return_idle_memory(cluster.node("a").shared_state()->node, memory, 1ms);
    std::unique_lock lock(state->mutex);
    const bool is_released = state->released.wait_for(lock, 10s, [&] { return state->use == SharedMemoryUse{}; });
    BOOST_TEST(is_released);
  }
}

// It has questions that peers have not answered.
BOOST_AUTO_TEST_CASE(a_link_that_shares_nothing_yet_is_called_too) {
  const auto state = std::make_shared<SharesMemory::State>();
  CachingAllocator memory;
  LocalClusterOptions options;
  options.wrap_link = [&](std::unique_ptr<Link> inner) {
    return std::make_unique<SharesMemory>(std::move(inner), state);
  };
  LocalCluster cluster{{"a"}, FunctionRegistry{}, options};
  return_idle_memory(cluster.node("a").shared_state()->node, memory, 1ms);
  std::unique_lock lock(state->mutex);
  BOOST_TEST(state->released.wait_for(lock, 10s, [&] { return state->calls >= 2; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
