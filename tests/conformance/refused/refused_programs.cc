// Programs that must not compile, one per value of PROGRAM; with 0 it does. Not part of any target:
// refused_programs_test gives it to the compiler.
#include "tests/conformance/refused/refused_programs.h"

using namespace troupe;

struct MoveOnly {
  MoveOnly() = default;
  MoveOnly(MoveOnly&&) = default;
  int value = 0;
};
struct Counter {
  int add(int x) { return x; }
  int set(int x) { return x; }
  int set(double x) { return static_cast<int>(x); }
};
struct Other {
  int add(int x) { return x; }
};

int twice(int x);
int overloaded(int x);
int overloaded(double x);
int by_reference(int& x);
int by_pointer(const int* x);
int of_future(const Future<int>& x);
int of_move_only(MoveOnly x);

class Closed {
 public:
  explicit Closed(int value) : value_(value) {}

 private:
  int value_;
};
int of_closed(const Closed& closed);
int of_number_and_closed(int number, const Closed& closed);
struct Net : nn::Module {
  explicit Net(int width);
  Variable forward(const Variable& x);
};
inline constexpr auto net_class = module_class<Net, int>;

void program(const Scope& scope, const Future<int>& future, const RRef<Counter>& counter, const RemoteModule<Net>& net,
             const Tensor& x) {
#if PROGRAM == 0
  static_cast<void>(RemoteModule(scope, "ps0", net_class, 1).forward(scope, x));
  static_cast<void>(scope.rpc_sync("ps0", &twice, 1));
  static_cast<void>(FunctionRegistry{{"of_closed", &of_closed}});
  static_cast<void>(RRef<Closed>().rpc_sync(scope, &of_closed));
  static_cast<void>(scope.rpc_sync("ps0", overload<int(double)>(&overloaded), 1.5));
  static_cast<void>(counter.rpc_sync(scope, overload<int(double)>(&Counter::set), 1.5));
  static_cast<void>(FunctionRegistry{{"overloaded", overload<int(double)>(&overloaded)}});
  static_cast<void>(future.then([](int value) { return value; }));
#elif PROGRAM == 1
  static_cast<void>(scope.rpc_sync(1.5, &twice, 1));
#elif PROGRAM == 2
  static_cast<void>(scope.rpc_sync("ps0", &twice));
#elif PROGRAM == 3
  static_cast<void>(scope.rpc_sync("ps0", &twice, 1.5));
#elif PROGRAM == 4
  static_cast<void>(scope.rpc_sync("ps0", &by_reference, 1));
#elif PROGRAM == 5
  static_cast<void>(scope.rpc_sync("ps0", &by_pointer, nullptr));
#elif PROGRAM == 6
  static_cast<void>(scope.rpc_sync("ps0", &of_future, future));
#elif PROGRAM == 7
  static_cast<void>(scope.rpc_sync("ps0", &of_move_only, MoveOnly()));
#elif PROGRAM == 8
  static_cast<void>(scope.rpc_sync("ps0", [&x] { return x; }));
#elif PROGRAM == 9
  static_cast<void>(future.then([](int, int) { return 1; }));
#elif PROGRAM == 10
  static_cast<void>(future.then(nullptr));
#elif PROGRAM == 11
  static_cast<void>(scope.with({.deadline = 5.0}));
#elif PROGRAM == 12
  static_cast<void>(scope.rpc_sync("ps0", op::matmul, x, std::string("x")));
#elif PROGRAM == 13
  static_cast<void>(scope.rpc_sync("ps0", 42));
#elif PROGRAM == 14
  static_cast<void>(counter.rpc_sync(scope, &Other::add, 1));
#elif PROGRAM == 15
  static_cast<void>(scope.rpc_sync("ps0", &Counter::add, 1));
#elif PROGRAM == 16
  static_cast<void>(counter.rpc_sync(scope, &Counter::add));
#elif PROGRAM == 17
  static_cast<void>(counter.rpc_sync(scope, &Counter::add, 1.5));
#elif PROGRAM == 18
  static_cast<void>(scope.remote("ps0", &twice, std::string("x")));
#elif PROGRAM == 19
  static_cast<void>(FunctionRegistry{{"Counter", module_class<Counter, int>}});
#elif PROGRAM == 20
  const RemoteModule<Counter> none;
#elif PROGRAM == 21
  static_cast<void>(RemoteModule(scope, "ps0", net_class, 1.5));
#elif PROGRAM == 22
  static_cast<void>(net.forward(scope));
#elif PROGRAM == 23
  net.zero_grad(scope);
#elif PROGRAM == 24
  static_cast<void>(FunctionRegistry{{"of_number_and_closed", &of_number_and_closed}});
#elif PROGRAM == 25
  static_cast<void>(scope.rpc_sync("ps0", &overloaded, 1));
#elif PROGRAM == 26
  static_cast<void>(FunctionRegistry{{"overloaded", &overloaded}});
#elif PROGRAM == 27
  static_cast<void>(counter.rpc_sync(scope, &Counter::set, 1));
#endif
}
