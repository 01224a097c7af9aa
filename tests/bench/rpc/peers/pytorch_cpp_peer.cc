// Rows of calls with PyTorch's RPC agent for C++, without Python: `pytorch_cpp <row>` answers the same lines as `rpc
// --row <row>`, `--rows` prints the rows. The server is a fork; what it runs is an operator that returns its argument.
#include <sys/prctl.h>
#include <torch/csrc/distributed/rpc/request_callback_no_python.h>
#include <torch/csrc/distributed/rpc/script_call.h>
#include <torch/csrc/distributed/rpc/script_resp.h>
#include <torch/csrc/distributed/rpc/tensorpipe_agent.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/figures.h"

namespace troupe::bench {
namespace {

namespace rpc = torch::distributed::rpc;

struct Row {
  std::string_view name;
  std::int64_t floats;
};

constexpr std::array<Row, 5> kRows{{{"identity/4B", 1},
                                    {"identity/64KB", 1 << 14},
                                    {"identity/1MB", 1 << 18},
                                    {"identity/4MB", 1 << 20},
                                    {"identity/64MB", 1 << 24}}};
constexpr float kCallMaxSeconds = 300;

/// Joins as node `rank` of two, which find each other by `file`.
std::shared_ptr<rpc::TensorPipeAgent> join(const std::string& file, rpc::worker_id_t rank) {
  const rpc::TensorPipeRpcBackendOptions options(16, c10::nullopt, c10::nullopt, kCallMaxSeconds, "file://" + file);
  auto agent = std::make_shared<rpc::TensorPipeAgent>(
      c10::make_intrusive<c10d::FileStore>(file, 2), rank == 0 ? "client" : "server", rank, 2, options,
      std::unordered_map<std::string, rpc::DeviceMap>{}, std::vector<c10::Device>{},
      std::make_unique<rpc::RequestCallbackNoPython>());
  agent->setTypeResolver(std::make_shared<rpc::TypeResolver>(
      [](const c10::QualifiedName&) -> c10::StrongTypePtr { throw std::logic_error("a call with a class"); }));
  rpc::RpcAgent::setCurrentRpcAgent(agent);
  agent->start();
  return agent;
}

/// Returns what the server answers to `x`.
at::Tensor identity(rpc::TensorPipeAgent& agent, const std::shared_ptr<torch::jit::Operator>& same,
                    const at::Tensor& x) {
  const auto answered = agent.send(agent.getWorkerInfo("server"), rpc::ScriptCall(same, {x}).toMessage());
  answered->waitAndThrow();
  const auto message = answered->value().toCustomClass<rpc::Message>();
  if (message->type() != rpc::MessageType::SCRIPT_RET) throw std::runtime_error("the call failed");
  return rpc::ScriptResp::fromMessage(*message)->value().toTensor();
}

int run_peer(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--rows") {
    for (const Row& row : kRows) std::printf("%s\n", std::string(row.name).c_str());
    return 0;
  }
  const auto* const row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end()) throw std::invalid_argument("no row " + name);
  ::setenv("TP_SOCKET_IFNAME", "lo", 1);
  at::set_num_threads(1);
  std::string file = "/tmp/troupe_pytorch_cpp_peer.XXXXXX";
  if (::mkstemp(file.data()) < 0) throw std::runtime_error("mkstemp");
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto agent = join(file, 1);
    while (true) ::pause();
  }
  const auto agent = join(file, 0);
  const auto same = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("aten::alias")).at(0);
  const at::Tensor x = at::ones({row->floats});
  for (int i = 0; i < 2; ++i) static_cast<void>(identity(*agent, same, x));
  ::unlink(file.c_str());
  answer([&](std::int64_t count) {
    std::vector<double> each =
        times_of(static_cast<std::size_t>(count), [&] { static_cast<void>(identity(*agent, same, x)); });
    for (double& time : each) time *= 1e-6;
    return Timing(std::move(each));
  });
  std::fflush(stdout);
  ::_exit(0);  // the agent's threads with it; the fork follows
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) { return troupe::bench::run_peer(argc, argv); }
