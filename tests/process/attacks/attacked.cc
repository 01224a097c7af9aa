#include "tests/process/attacks/attacked.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/error.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/test_functions.h"
#include "tests/support/share_nothing.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"caller", "victim", "thief"};

}  // namespace

Attacked::Attacked(const AttackedOptions& options)
    : with_keys_(options.network == Network::keys), rings_(make_run_keys(kNames)) {
  NodeOptions here;
  here.name = "caller";
  here.cluster_id = "conformance";
  here.bind = options.transport;
  here.network = options.network;
  here.world_size = 0;
  here.secret = secret_;
  here.liveness.lease = options.lease;
  testing::share_nothing(here);  // the calls that a flood may slow down take the network
  if (with_keys_) here.keys = rings_[0];
  caller_.emplace(Node::join(std::move(here), functions_of("caller")));
  caller_->on_down([this](const Peer&, const Error&) { ++downs_; });
  victim_process_.emplace(NodeProcessOptions{.name = "victim",
                                             .seed = caller_->address(),
                                             .bind = options.bind,
                                             .advertise = options.advertise,
                                             .network = options.network,
                                             .keys = with_keys_ ? std::optional(rings_[1]) : std::nullopt,
                                             .shares = false,
                                             .liveness = {.lease = options.lease}},
                          secret_);
  caller_->wait_for_members(2, 20s);
  caller_->rpc_sync("victim", &await_world, 2U);
  victim_at_first_ = victim();
}

Attacked::~Attacked() {
  const ShutdownReport report = caller_->shutdown(10s);
  BOOST_CHECK_MESSAGE(report.clean(), fmt::format("shutdown waited for {}", fmt::join(report.waited_for, "; ")));
  const std::string end = victim_process_->wait(10s);
  BOOST_CHECK_MESSAGE(end == "exit 0", fmt::format("the victim ended with {}", end));
}

Node Attacked::join_as_third() const {
  NodeOptions third;
  third.name = "thief";
  third.cluster_id = "conformance";
  third.seed = caller_->address();
  third.seed_name = "caller";
  third.world_size = 0;
  third.join_deadline = 15s;
  third.secret = secret_;
  if (with_keys_) third.keys = rings_[2];
  return Node::join(std::move(third), functions_of("thief"));
}

Peer Attacked::peer(const NodeName& name) const {
  const std::vector<Peer> members = caller_->members();
  const auto found = std::ranges::find(members, name, &Peer::name);
  BOOST_REQUIRE_MESSAGE(found != members.end(), fmt::format("{} is no member any more", name));
  return *found;
}

Peer Attacked::victim() const { return peer("victim"); }
Peer Attacked::caller_as_peer() const { return peer("caller"); }

void Attacked::check_unharmed() {
  const auto with_limit = caller_->with({.deadline = 10s});
  BOOST_TEST(with_limit.rpc_sync("victim", &ping_pong, NodeName("caller"), 4) == 4);
  BOOST_TEST((with_limit.rpc_sync("victim", &members_here) == std::vector<NodeName>{"caller", "victim"}));
  BOOST_TEST((victim() == *victim_at_first_));
  BOOST_TEST(downs_ == 0);
  BOOST_TEST(!caller_->declared_dead().has_value());
}

CallLoad::CallLoad(Node& caller)
    : thread_([this, calls = caller.with({.deadline = 10s})] {
        for (std::int64_t i = 0; !stopped_; ++i) {
          try {
            if (calls.rpc_sync("victim", &square, i) == i * i) {
              ++answered_;
              continue;
            }
          } catch (const RemoteError&) {
          }
          ++failed_;
          if (failed_ > 100) return;  // it will not get better
        }
      }) {}

CallLoad::~CallLoad() {
  stopped_ = true;
  thread_.join();
}

void CallLoad::await(std::uint64_t calls) const {
  const std::uint64_t wanted = answered_ + calls;
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (answered_ < wanted && failed_ == 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(answered_ >= wanted);
}

}  // namespace troupe::testing
