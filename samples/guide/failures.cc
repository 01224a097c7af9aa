// Page 5 of the guide: what a caller sees when something goes wrong.
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;
using namespace std::chrono_literals;

struct NotPositive : std::runtime_error {
  explicit NotPositive(double x = 0) : runtime_error("not positive"), value(x) {}
  double value;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

double logarithm(double x) {
  if (x <= 0) throw NotPositive(x);
  return std::log(x);
}

/// Works until its caller waits no longer.
void endless(Scope& scope) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, scope.stop_token(), [] { return false; });
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{
      {"logarithm", &logarithm}, {"endless", &endless}, exception<NotPositive>("not_positive")};
  LocalCluster cluster({"caller", "callee"}, functions);
  const Node& caller = cluster.node("caller");

  try {
    caller.rpc_sync("callee", &logarithm, -2.0);
  } catch (const NotPositive& error) {
    std::cout << error.what() << ": " << error.value << std::endl;
  }
  try {
    caller.with({.deadline = 20ms}).rpc_sync("callee", &endless);
  } catch (const RemoteError& error) {
    std::cout << "too late: " << name_of(error.code()) << std::endl;
  }
  cluster.kill("callee");
  try {
    caller.rpc_sync("callee", &logarithm, 1.0);
  } catch (const RemoteError& error) {
    std::cout << error.what() << std::endl;
  }
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
