// Troupe as a bridge sees it: compiled as strict C++17, without Troupe's other include folders. port_test.cc runs it.
#include "node/port.h"

#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#if __cplusplus != 201703L
#error "this file shows that port.h needs C++17 only"
#endif

namespace {

troupe::Port::Part part_of(const std::string& text) {
  auto owner = std::make_shared<const std::string>(text);
  return {owner->data(), owner->size(), owner};
}

std::string text_of(const troupe::Port::Parts& parts) {
  std::string text;
  for (const troupe::Port::Part& part : parts) text.append(static_cast<const char*>(part.data), part.size);
  return text;
}

}  // namespace

/// Uses every member of a port. Returns the answer, "pong 7".
std::string round_trip_in_cxx17() {
  using troupe::Port;
  Port::Options options;
  options.secret = Port::draw_secret();
  options.name = "server";
  Port server(options);
  server.start([](const std::string& from, std::uint64_t tag, const Port::Parts& parts, const Port::Answer& answer) {
    const bool expected = from == "client" && text_of(parts) == "ping";
    answer({part_of(expected ? "pong " : "wrong "), part_of(std::to_string(tag))});
  });
  options.name = "client";
  Port client(options);
  client.connect("server", server.address());
  client.set_fault(8, Port::Fault{});
  auto result = std::make_shared<std::promise<Port::Result>>();
  client.call("server", 7, {part_of("ping")}, std::chrono::seconds(10),
              [result](Port::Result got) { result->set_value(std::move(got)); });
  const Port::Result got = result->get_future().get();
  client.remove("server");
  const bool clean = client.stop() && server.stop(Port::Time(std::chrono::seconds(5)));
  if (!clean || client.counts().started != 1) return "the ports did not end well";
  return got.outcome == Port::Outcome::answered ? text_of(got.parts) : got.why;
}
