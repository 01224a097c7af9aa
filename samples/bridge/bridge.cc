// A bridge in miniature: a foreign RPC layer, with its own names, encoding and futures, on top of a raw port. C++17,
// and no header of Troupe but one. Two processes: a child serves, its parent calls.
#include <sys/wait.h>
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
    port_.start([functions = std::move(functions)](const std::string&, std::uint64_t tag, troupe::Port::Parts parts,
                                                   troupe::Port::Answer answer) {
      const auto found = functions.find(tag);
      if (found != functions.end()) answer(encode({found->second(decode(parts))}));
    });  // an unknown function is not answered: the caller learns that the request was dropped
  }

  std::future<double> call(const std::string& peer, std::uint64_t function, Numbers numbers) {
    auto promise = std::make_shared<std::promise<double>>();
    port_.call(peer, function, encode(std::move(numbers)), std::chrono::seconds(10),
               [promise](troupe::Port::Result result) {
                 if (result.outcome == troupe::Port::Outcome::answered)
                   return promise->set_value(decode(result.parts).at(0));
                 promise->set_exception(std::make_exception_ptr(std::runtime_error(result.why)));
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
    Numbers numbers(parts.at(0).size / sizeof(double));
    std::memcpy(numbers.data(), parts.at(0).data, numbers.size() * sizeof(double));  // it may lie anywhere
    return numbers;
  }

  troupe::Port port_;
};

double sum(const TinyRpc::Numbers& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

int main() {
  const std::string secret = troupe::Port::draw_secret();  // the child inherits it
  int address[2];
  int end[2];
  if (pipe(address) != 0 || pipe(end) != 0) return 1;
  if (fork() == 0) {
    close(end[1]);
    TinyRpc server("server", secret, {{1, &sum}});
    const std::string line = server.port().address() + '\n';
    const bool told = write(address[1], line.data(), line.size()) > 0;
    return told && read(end[0], address, 1) == 0 ? 0 : 1;  // until the parent ends
  }
  std::string server;
  for (char byte = 0; read(address[0], &byte, 1) == 1 && byte != '\n';) server += byte;
  TinyRpc client("client", secret, {});
  client.port().connect("server", server);
  TinyRpc::Numbers numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  std::cout << "sum of 1 to 1000, by another process = " << client.call("server", 1, numbers).get()
            << ", by hand: 500500" << std::endl;
}
