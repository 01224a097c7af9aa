// Measures one turn of a router for different numbers of peers: instructions of this program, counted one by one.
//   {"name": "router/turn/256", "unit": "instructions", "median": 5021, "p99": 5034, "n": 15}
// A turn: a message of one peer arrives, is delivered and is acknowledged when that is due. The second number of
// "router/turn/2/1000" is the number of messages to that peer which it has not acknowledged. `--quick` makes fewer
// turns.
#include <fmt/core.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "actors/core/lives.h"
#include "actors/sessions/packed_message.h"
#include "tests/actors/sessions/no_callbacks.h"
#include "tests/bench/figures.h"

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;
using detail::Router;

const TimePoint kStart{1h};
const Peer kSelf{"self", {1, 1}, "memory://self"};

Peer peer_of(std::size_t number) {
  return {fmt::format("p{}", number), {2, number}, fmt::format("memory://p{}", number)};
}

Parcel word(const NodeName& to) {
  return detail::pack_message({"p0", to + "/references", {}, {}}, msg::RRefForkAck{{{{"p0", 1}, {"p0", 2}}}}, {})
      .value();
}

/// A router with peers. The first peer sends it messages.
class World {
 public:
  World(std::size_t peers, std::size_t unacknowledged) : router_(kSelf, callbacks_, lives_) {
    for (std::size_t i = 0; i < peers; ++i) router_.link_up(kStart, peer_of(i));
    for (std::size_t i = 0; i < unacknowledged; ++i) router_.notify(kStart, "p0", {}, word("p0"));
  }

  /// Prepares the next packet. Its cost is not part of the turn.
  void prepare() { packet_ = std::move(first_.send(now_, word("self")).value().at(0).frames); }

  void turn() {
    router_.frames(now_, "p0", peer_of(0).incarnation, std::move(packet_));
    now_ += 30ms;  // the acknowledgement is due by then
    router_.tick(now_);
    static_cast<void>(router_.next_due());
  }

 private:
  detail::Lives lives_;
  detail::NoCallbacks callbacks_;
  Router router_;
  Session first_{peer_of(0).incarnation, kSelf.incarnation};
  TimePoint now_ = kStart;
  Frames packet_;
};

void check(bool done, const char* what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

/// Runs in the child: stops before and after each counted turn.
[[noreturn]] void take_turns(std::size_t peers, std::size_t unacknowledged, int turns) {
  World world(peers, unacknowledged);
  for (int i = 0; i < 100; ++i) world.prepare(), world.turn();
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);  // without tracing the stops would go unnoticed
  for (int i = 0; i < turns; ++i) {
    world.prepare();
    raise(SIGSTOP);
    world.turn();
    raise(SIGSTOP);
  }
  _exit(0);
}

/// Returns the signal that stopped the child; 0 if it has ended.
int stop_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/// Returns the instructions of each turn. They include the constant cost of raising the signals.
std::vector<double> instructions_of_turns(std::size_t peers, std::size_t unacknowledged, int turns) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) take_turns(peers, unacknowledged, turns);
  std::vector<double> counts;
  while (stop_of(child) == SIGSTOP) {
    std::uint64_t count = 0;
    int signal = 0;
    do {
      check(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0, "ptrace");
      signal = stop_of(child);
      ++count;
    } while (signal == SIGTRAP);
    counts.push_back(static_cast<double>(count));
    check(signal == SIGSTOP && ptrace(PTRACE_CONT, child, nullptr, nullptr) == 0, "ptrace");
  }
  if (static_cast<int>(counts.size()) != turns)
    throw std::runtime_error("the turns ended too early: may this process trace its children?");
  return counts;
}

void measure(int turns) {
  for (const std::size_t peers : {2U, 16U, 256U}) {
    print(fmt::format("router/turn/{}", peers), "instructions", instructions_of_turns(peers, 0, turns));
  }
  print("router/turn/2/1000", "instructions", instructions_of_turns(2, 1000, turns));
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) try {
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    std::cerr << "usage: router [--quick]\n";
    return 2;
  }
  troupe::bench::measure(quick ? 3 : 15);
  return 0;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
