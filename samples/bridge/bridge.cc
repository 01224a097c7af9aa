// A bridge in miniature: a foreign RPC layer, with its own names, encoding and futures, on top of a raw port. C++17,
// and no header of Troupe but one. Two processes: a child serves, its parent calls.
#include <unistd.h>

#include <cstring>
#include <future>
#include <iostream>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/port.h"

/// The foreign layer: functions of numbers, known by name on both sides.
class TinyRpc {
 public:
  using Numbers = std::vector<double>;
  using Function = double (*)(const Numbers&);

  TinyRpc(std::string name, const std::string& secret, std::map<std::uint64_t, Function> functions)
      : port_(options(std::move(name), secret)) {
    // An unknown function, or one that throws, is not answered: the caller learns that the request was dropped.
    port_.start([functions = std::move(functions)](const std::string&, std::uint64_t tag, troupe::Port::Parts parts,
                                                   troupe::Port::Answer answer) {
      try {
        answer(encode({functions.at(tag)(decode(parts))}));
      } catch (const std::exception& error) {
        std::cerr << "function " << tag << ": " << error.what() << std::endl;
      }
    });
  }

  std::future<double> call(const std::string& peer, std::uint64_t function, Numbers numbers) {
    auto promise = std::make_shared<std::promise<double>>();
    port_.call(peer, function, encode(std::move(numbers)), std::chrono::seconds(10),
               [promise](troupe::Port::Result result) {
                 try {
                   if (result.outcome != troupe::Port::Outcome::answered) throw std::runtime_error(result.why);
                   promise->set_value(decode(result.parts).at(0));
                 } catch (...) {
                   promise->set_exception(std::current_exception());
                 }
               });
    return promise->get_future();
  }

  troupe::Port& port() { return port_; }

 private:
  static troupe::Port::Options options(std::string name, const std::string& secret) {
    troupe::Port::Options options;
    options.name = std::move(name);
    options.secret = secret;
    return options;
  }
  static troupe::Port::Parts encode(Numbers numbers) {
    const auto owner = std::make_shared<const Numbers>(std::move(numbers));
    return {{owner->data(), owner->size() * sizeof(double), owner}};
  }
  static Numbers decode(const troupe::Port::Parts& parts) {
    const troupe::Port::Part& part = parts.at(0);
    Numbers numbers(part.size / sizeof(double));
    if (!numbers.empty())
      std::memcpy(numbers.data(), part.data, numbers.size() * sizeof(double));  // it may lie anywhere
    return numbers;
  }

  troupe::Port port_;
};

double sum(const TinyRpc::Numbers& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

double mean(const TinyRpc::Numbers& numbers) {
  if (numbers.empty()) throw std::invalid_argument("nothing has no mean");
  return sum(numbers) / static_cast<double>(numbers.size());
}

/// The child: writes its address to `told` and serves until `end` is closed. Returns its exit status.
int serve(const std::string& secret, int told, int end) {
  TinyRpc server("server", secret, {{1, &sum}, {2, &mean}});
  const std::string line = server.port().address() + '\n';
  char byte = 0;
  return write(told, line.data(), line.size()) > 0 && read(end, &byte, 1) == 0 ? 0 : 1;
}

/// The parent: calls the server whose address comes from `told`.
void call(const std::string& secret, int told) {
  std::string server;
  char byte = 0;
  while (read(told, &byte, 1) == 1 && byte != '\n') server += byte;
  if (byte != '\n') throw std::runtime_error("the server ended before it had an address");
  TinyRpc client("client", secret, {});
  client.port().connect("server", server);
  try {
    client.call("server", 2, {}).get();
  } catch (const std::exception& error) {
    std::cout << "mean of nothing: " << error.what() << std::endl;
  }
  TinyRpc::Numbers numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  std::cout << "sum of 1 to 1000, by another process = " << client.call("server", 1, numbers).get()
            << ", by hand: 500500" << std::endl;
}

int main() {
  const std::string secret = troupe::Port::draw_secret();  // the child inherits it
  int address[2];
  int end[2];
  if (pipe(address) != 0 || pipe(end) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  close(address[child == 0 ? 0 : 1]);  // a pipe that only the other process can write to ends with it
  close(end[child == 0 ? 1 : 0]);
  try {
    if (child == 0) return serve(secret, address[1], end[0]);
    call(secret, address[0]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << (child == 0 ? "server: " : "client: ") << error.what() << std::endl;
    return 1;
  }
}
