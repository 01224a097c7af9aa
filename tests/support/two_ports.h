// Two raw ports for tests, calls between them, and their results as text.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/port.h"
#include "tests/support/eventually.h"

namespace troupe::testing {

inline constexpr auto kPatience = std::chrono::seconds(10);
inline constexpr std::uint64_t kEcho = 1;

inline Port::Part part_of(
    const std::string& text, std::function<void()> released = [] {}) {
  auto text_owner = std::make_shared<const std::string>(text);
  std::shared_ptr<const void> owner(text_owner.get(),
                                    [text_owner, released = std::move(released)](const void*) { released(); });
  return {text_owner->data(), text_owner->size(), std::move(owner)};
}

inline std::string text_of(const Port::Parts& parts) {
  std::string text;
  for (const Port::Part& part : parts) text.append(static_cast<const char*>(part.data), part.size);
  return text;
}

inline Port::Options options(const std::string& name, const std::string& secret) {
  Port::Options with;
  with.name = name;
  with.secret = secret;
  with.connect_patience = std::chrono::seconds(2);
  return with;
}

/// Returns "timeout: no answer within 5 ms", or the text of the answer.
inline std::string describe(const Port::Result& result) {
  static const std::map<Port::Outcome, std::string> names{{Port::Outcome::answered, "answered"},
                                                          {Port::Outcome::timeout, "timeout"},
                                                          {Port::Outcome::peer_lost, "peer_lost"},
                                                          {Port::Outcome::stopped, "stopped"}};
  return result.outcome == Port::Outcome::answered ? text_of(result.parts)
                                                   : names.at(result.outcome) + ": " + result.why;
}

/// One pending call. A second `done` throws, which fails the test.
struct Pending {
  std::shared_ptr<std::promise<Port::Result>> promise = std::make_shared<std::promise<Port::Result>>();
  std::future<Port::Result> future = promise->get_future();

  Port::Done done() const {
    return [promise = promise](Port::Result result) { promise->set_value(std::move(result)); };
  }
  std::string get() {
    if (future.wait_for(kPatience) != std::future_status::ready) return "no end within 10 s";
    return describe(future.get());
  }
};

inline Pending start_call(Port& from, const std::string& to, const std::string& text, std::uint64_t tag = kEcho,
                          Port::Time deadline = kPatience) {
  Pending pending;
  from.call(to, tag, {part_of(text)}, deadline, pending.done());
  return pending;
}

inline std::string call(Port& from, const std::string& to, const std::string& text, std::uint64_t tag = kEcho,
                        Port::Time deadline = kPatience) {
  return start_call(from, to, text, tag, deadline).get();
}

inline void echo(const std::string&, std::uint64_t, Port::Parts parts, const Port::Answer& answer) {
  answer(std::move(parts));
}

/// Ports a and b. Port a has connected to b; b serves `serve`.
struct Two {
  explicit Two(Port::Serve serve = echo, unsigned threads = 64) : b(with(threads, "b")) {
    if (serve) b.start(std::move(serve));
    a.connect("b", b.address());
  }
  Port::Options with(unsigned threads, const std::string& name) const {
    Port::Options all = options(name, secret);
    all.threads = threads;
    return all;
  }
  std::string secret = Port::draw_secret();
  Port a{options("a", secret)};
  Port b;
};

/// Stores answers for later.
struct Kept {
  Port::Serve serve() {
    return [this](const std::string&, std::uint64_t, const Port::Parts&, Port::Answer answer) {
      changes.change([&] { answers.push_back(std::move(answer)); });
    };
  }
  void wait(std::size_t count) const {
    eventually(
        kPatience, changes, [&] { return answers.size() >= count; }, [&] { return answers.size(); });
  }
  Changes changes;
  std::vector<Port::Answer> answers;
};

}  // namespace troupe::testing
