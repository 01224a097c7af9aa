#include "tests/bench/rpc/rows.h"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/rref.h"
#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe::bench {
namespace {

using Run = std::function<Timing(std::int64_t)>;

void row_nothing() {}
Tensor row_identity(const Tensor& x) { return x; }
double row_sum(const Tensor& x) { return sum(x).item<double>(); }
Variable row_scaled(const Variable& x) { return x * 2.0; }
Tensor row_fetched(Scope& scope, const RRef<Tensor>& rref) { return rref.to_here(scope); }

/// Adds 1 to every element `times` times, each time into a new tensor.
Tensor row_adds(const Tensor& x, std::int64_t times) {
  Tensor y = x;
  for (std::int64_t i = 0; i < times; ++i) {
    Tensor next = y + 1.0;
    y = std::move(next);
  }
  return y;
}

Tensor row_adds_200(const Tensor& x) { return row_adds(x, 200); }

/// Calls `row_nothing` on `server` `count` times, `window` at a time.
void row_call_often(Scope& scope, const NodeName& server, std::int64_t count, std::int64_t window) {
  std::deque<Future<void>> under_way;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::ssize(under_way) == window) {
      under_way.front().get();
      under_way.pop_front();
    }
    under_way.push_back(scope.rpc_async(server, &row_nothing));
  }
  for (const auto& call : under_way) call.get();
}

Variable row_parameter() { return Variable(ones({10}), RequiresGrad::yes); }

/// The sum of all elements of variables that this node owns.
Variable row_total(Scope& scope, const std::vector<RRef<Variable>>& variables) {
  Variable total = sum(*variables.front().local_value(scope));
  for (std::size_t i = 1; i < variables.size(); ++i) total = total + sum(*variables[i].local_value(scope));
  return total;
}

/// A row whose iterations run one after the other; the first two are not counted.
template <class Make>
RpcRow one_by_one(std::string name, std::vector<NodeName> nodes, Make make) {
  return {std::move(name), std::move(nodes), [make](Node& node) -> Run {
            return [iteration = make(node)](std::int64_t count) mutable {
              for (int i = 0; i < 2; ++i) iteration();
              std::vector<double> each;
              each.reserve(static_cast<std::size_t>(count));
              auto begin = SteadyClock::now();
              for (std::int64_t i = 0; i < count; ++i) {
                iteration();
                const auto end = SteadyClock::now();
                each.push_back(std::chrono::duration<double>(end - begin).count());
                begin = end;
              }
              return Timing(std::move(each));
            };
          }};
}

RpcRow identity_row(const std::string& size, std::int64_t floats) {
  return one_by_one("identity/" + size, {"client", "server"}, [floats](Node& node) {
    return [&node, x = ones({floats})] { std::ignore = node.rpc_sync("server", &row_identity, x); };
  });
}

/// A tensor that its producer writes anew, and that the callee reads.
RpcRow fresh_row(const std::string& size, std::int64_t floats) {
  return one_by_one("fresh/" + size, {"client", "server"}, [floats](Node& node) {
    return [&node, floats, number = 0.0]() mutable {
      number += 1.0;
      std::ignore = node.rpc_sync("server", &row_sum, full({floats}, number));
    };
  });
}

/// Tensors on the first GPU, which every node uses.
RpcRow gpu_row(std::string name, std::int64_t floats, Tensor (*function)(const Tensor&)) {
  return one_by_one("gpu/" + std::move(name), {"client", "server"}, [floats, function](Node& node) {
    node.set_device_map("server", {{Device::cuda(), Device::cuda()}});
    return [&node, function, x = ones({floats}, DType::f32, Device::cuda())] {
      std::ignore = node.rpc_sync("server", function, x);
    };
  });
}

RpcRow rate_row(std::int64_t window) {
  return {"rate/" + std::to_string(window), {"client", "server"}, [window](Node& node) -> Run {
            return [&node, window](std::int64_t count) {
              row_call_often(node, "server", 2 * window, window);
              return seconds_of([&] { row_call_often(node, "server", count, window); });
            };
          }};
}

/// Returns the calls per second that `node` reaches with 256 in flight: the best of three rounds.
double rate_max(Node& node) {
  constexpr double kRoundSeconds = 0.2;  // at least
  const auto round = [&node](std::int64_t count) {
    return seconds_of([&] { row_call_often(node, "server", count, 256); });
  };
  std::int64_t count = 1024;
  while (round(count) < kRoundSeconds) count *= 2;
  double seconds = round(count);
  for (int i = 1; i < 3; ++i) seconds = std::min(seconds, round(count));
  return static_cast<double>(count) / seconds;
}

/// Makes `count` calls, each when it is due and whatever became of the earlier ones. The times of each begin when it
/// was due, so that they have what calls wait for their turn.
Timing call_when_due(Node& node, std::int64_t count, double per_second) {
  std::vector<Future<void>> calls(static_cast<std::size_t>(count));
  std::vector<double> each(calls.size());
  std::atomic<std::size_t> sent{0};
  const auto begin = SteadyClock::now();
  const auto due = [&](std::size_t i) {
    const std::chrono::duration<double> after(static_cast<double>(i) / per_second);
    return begin + std::chrono::duration_cast<SteadyClock::duration>(after);
  };
  ::prctl(PR_SET_TIMERSLACK, 1);  // of this thread: sleep for no longer than asked
  auto receiver = std::async(std::launch::async, [&] {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      sent.wait(i);
      calls[i].get();
      each[i] = std::chrono::duration<double>(SteadyClock::now() - due(i)).count();
    }
  });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::this_thread::sleep_until(due(i));  // returns at once when it is late, so that late calls go out together
    calls[i] = node.rpc_async("server", &row_nothing);
    sent = i + 1;
    sent.notify_one();
  }
  receiver.get();
  Timing timing(seconds_since(begin));
  timing.each = std::move(each);
  return timing;
}

/// Calls at so many hundredths of the rate that the node reaches.
RpcRow due_row(int percent) {
  return {fmt::format("due/{}%", percent), {"client", "server"}, [percent](Node& node) -> Run {
            const double per_second = rate_max(node) * percent / 100;
            return [&node, per_second](std::int64_t count) { return call_when_due(node, count, per_second); };
          }};
}

/// Each of three clients makes every call of an iteration.
RpcRow clients_row() {
  return {"clients/3", {"driver", "server", "client1", "client2", "client3"}, [](Node& node) -> Run {
            return [&node](std::int64_t count) {
              return seconds_of([&] {
                std::vector<Future<void>> all;
                for (const char* client : {"client1", "client2", "client3"})
                  all.push_back(node.rpc_async(client, &row_call_often, "server", count, std::int64_t{16}));
                for (const auto& one : all) one.get();
              });
            };
          }};
}

RpcRow create_fetch_row(const std::string& size, std::int64_t floats) {
  return one_by_one("rref/create_fetch/" + size, {"client", "server"}, [floats](Node& node) {
    return [&node, x = ones({floats})] { std::ignore = node.remote("server", &row_identity, x).to_here(node); };
  });
}

RpcRow chain_row(std::int64_t length) {
  return one_by_one("autograd/chain/" + std::to_string(length), {"client", "server"}, [length](Node& node) {
    return [&node, length] {
      DistContext context(node);
      const Variable x(ones({2}), RequiresGrad::yes);
      Variable y = x;
      for (std::int64_t i = 0; i < length; ++i) y = context.rpc_sync("server", &row_scaled, y);
      backward(context, sum(y));
    };
  });
}

RpcRow optimizer_row(std::int64_t parameters) {
  return one_by_one("optimizer/" + std::to_string(parameters), {"client", "server"}, [parameters](Node& node) {
    std::vector<RRef<Variable>> all;
    for (std::int64_t i = 0; i < parameters; ++i) all.push_back(node.remote("server", &row_parameter));
    const auto optimizer = std::make_shared<DistOptimizer>(node, optim::SgdOptions{.lr = 0.01}, all);
    return [&node, all, optimizer] {
      DistContext context(node);
      backward(context, context.rpc_sync("server", &row_total, all));
      optimizer->step(context);
    };
  });
}

}  // namespace

std::vector<RpcRow> rpc_rows() {
  std::vector<RpcRow> rows{one_by_one("identity/none", {"client", "server"},
                                      [](Node& node) { return [&node] { node.rpc_sync("server", &row_nothing); }; }),
                           identity_row("4B", 1),
                           identity_row("64KB", 1 << 14),
                           identity_row("1MB", 1 << 18),
                           identity_row("4MB", 1 << 20),
                           identity_row("64MB", 1 << 24),
                           fresh_row("4MB", 1 << 20),
                           fresh_row("64MB", 1 << 24),
                           one_by_one("adds/200/4MB", {"client", "server"},
                                      [](Node& node) {
                                        return [&node, x = ones({1 << 20})] {
                                          std::ignore = node.rpc_sync("server", &row_adds, x, std::int64_t{200});
                                        };
                                      }),
                           rate_row(16),
                           rate_row(256),
                           due_row(25),
                           due_row(50),
                           due_row(75),
                           due_row(90),
                           clients_row(),
                           create_fetch_row("4B", 1),
                           create_fetch_row("4MB", 1 << 20),
                           one_by_one("rref/fork_fetch/4B", {"client", "server", "third"},
                                      [](Node& node) {
                                        return [&node, x = ones({1})] {
                                          std::ignore = node.rpc_sync("third", &row_fetched,
                                                                      node.remote("server", &row_identity, x));
                                        };
                                      }),
                           chain_row(1),
                           chain_row(16),
                           optimizer_row(1),
                           optimizer_row(100)};
  if (gpu_count() > 0) {
    rows.push_back(gpu_row("identity/4MB", 1 << 20, &row_identity));
    rows.push_back(gpu_row("identity/400MB", 100 << 20, &row_identity));
    rows.push_back(gpu_row("adds/200/4MB", 1 << 20, &row_adds_200));
    rows.push_back(gpu_row("adds/200/400MB", 100 << 20, &row_adds_200));
  }
  return rows;
}

FunctionRegistry with_rpc_rows(const FunctionRegistry& functions) {
  return functions.with({{"row_adds", &row_adds},
                         {"row_adds_200", &row_adds_200},
                         {"row_call_often", &row_call_often},
                         {"row_fetched", &row_fetched},
                         {"row_identity", &row_identity},
                         {"row_nothing", &row_nothing},
                         {"row_parameter", &row_parameter},
                         {"row_scaled", &row_scaled},
                         {"row_sum", &row_sum},
                         {"row_total", &row_total}});
}

}  // namespace troupe::bench
